// SPDX-License-Identifier: Apache-2.0
#pragma once

// How large the types of a module are once its constants have values. Internal
// to module_limits.cc, which compares the sizes with a device's limits.

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "proto/spirv_view.h"
#include "shaders/module_constants.h"

namespace kiln::shaders {

// Sums stay at the largest number instead of wrapping.
uint64_t SaturatingAdd(uint64_t a, uint64_t b);
uint64_t SaturatingMultiply(uint64_t a, uint64_t b);
uint64_t AlignUp(uint64_t value, uint64_t alignment);

// One type. Arrays of no fixed length and opaque types have no bytes.
struct TypeSize {
  uint64_t bytes = 0;
  uint64_t alignment = 1;
  uint64_t components = 0;   // interface components; 64-bit scalars count twice
  uint64_t descriptors = 1;  // elements of the outermost arrays of it
  uint32_t bad_array = 0;    // an array inside, or itself, of impossible length
};

struct ModuleVariable {
  uint32_t result = 0;
  uint32_t type = 0;  // what it holds
  uint32_t storage_class = 0;
};

// Thread-compatible. Lifetime: views the module and its constants.
class ModuleSizes {
 public:
  // Requires: `constants` made of `spirv`.
  ModuleSizes(std::span<const uint32_t> spirv,
              const ModuleConstants& constants);

  // Global ones and those of functions, in the order of the module.
  const std::vector<ModuleVariable>& variables() const { return variables_; }

  // In the order of the module.
  const std::vector<uint32_t>& arrays() const { return arrays_; }

  const TypeSize& SizeOf(uint32_t type) const;

  // True for a structure decorated Block.
  bool IsBlock(uint32_t type) const { return blocks_.contains(type); }

  // The constants that are the lengths of arrays in `type`.
  std::vector<uint32_t> LengthsIn(uint32_t type) const;

  // "p", or "s.member" down to the array `inner` within the variable's type.
  std::string PathTo(const ModuleVariable& variable, uint32_t inner) const;

  // The length of an array type as a number, signed if its type is;
  // "unknown" when it cannot be computed.
  std::string LengthText(uint32_t array) const;

 private:
  void Visit(const Instruction& instruction);
  void Decorate(const Instruction& instruction);
  TypeSize SizeOfArray(const Instruction& instruction) const;
  TypeSize SizeOfStruct(const Instruction& instruction) const;
  TypeSize SizeOfNumeric(const Instruction& instruction) const;

  const ModuleConstants& constants_;
  std::unordered_map<uint32_t, Instruction> types_;
  std::unordered_map<uint32_t, TypeSize> sizes_;
  std::unordered_map<uint32_t, uint32_t> strides_;  // ArrayStride
  std::unordered_map<uint64_t, uint32_t> offsets_;  // of members
  std::unordered_set<uint32_t> blocks_;
  std::vector<uint32_t> arrays_;
  std::vector<ModuleVariable> variables_;
};

}  // namespace kiln::shaders
