// SPDX-License-Identifier: Apache-2.0
#pragma once

// The constants of one SPIR-V module: which it declares, what it computes from
// them, and which of them decide a given value. Internal to this folder:
// reflection.h, freeze.h, module_limits.h and schema_check.h are made of it.
// One pass over the module, nothing proportional to any value in it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/constant.h"
#include "proto/spirv_view.h"
#include "shaders/constant_arithmetic.h"

namespace kiln::shaders {

// One OpSpecConstant, OpSpecConstantTrue or OpSpecConstantFalse. Several may
// share a constant_id: glslang makes one of its own for each `local_size_x_id`
// and each use of `gl_WorkGroupSize`.
struct DeclaredConstant {
  std::optional<uint32_t> constant_id;  // absent: no SpecId, nobody can set it
  uint32_t result = 0;                  // SPIR-V id
  ConstantType type = ConstantType::kUint32;
  uint64_t default_value = 0;
  uint64_t value = 0;     // default_value until Set
  std::string_view name;  // OpName
};

// A scalar or vector type of numbers or booleans.
struct VectorType {
  NumericType lane;
  uint32_t lane_type = 0;  // SPIR-V id; of a scalar, its own
  uint32_t lanes = 1;
};

// Thread-compatible. Lifetime: views the words it was made from.
class ModuleConstants {
 public:
  // Requires: a validated module; of another, fewer constants are found.
  // Errors: InvalidArgument when the words are no SPIR-V, or a constant is of
  // a type that ConstantType lacks.
  static absl::StatusOr<ModuleConstants> Parse(std::span<const uint32_t> spirv);

  // In the order of the module.
  const std::vector<DeclaredConstant>& declared() const { return declared_; }

  // Gives constants values and computes what depends on them; all others have
  // their defaults. A Constant with kIdByName is found by OpName.
  // An integer of another type is taken where its number fits.
  // Errors: InvalidArgument naming the constant: none has that id or name, two
  // ids have that name, it is given twice, or its value does not fit the type.
  absl::Status Set(std::span<const Constant> values);

  // Returns: nullopt for what is not numeric or cannot be computed.
  std::optional<NumericValue> Value(uint32_t result) const;

  // True for any constant, specialization or not.
  bool IsConstant(uint32_t result) const { return constants_.contains(result); }

  // Returns: nullptr when `type` is not numeric.
  const VectorType* FindType(uint32_t type) const;

  // All of OpName, by SPIR-V id.
  const std::unordered_map<uint32_t, std::string_view>& names() const {
    return names_;
  }

  // OpName, or "". And that of a structure's member.
  std::string_view NameOf(uint32_t id) const;
  std::string_view MemberNameOf(uint32_t type, uint32_t member) const;

  // The vector decorated BuiltIn WorkgroupSize; 0 when there is none.
  uint32_t workgroup_size() const { return workgroup_size_; }

  // The declared constants `results` are computed from, as indices of
  // `declared`, ascending; of those that share a constant_id, the first.
  std::vector<size_t> DecidedBy(std::span<const uint32_t> results) const;

  // "constant n = 4, constant_id 5 = 2"; "" when nothing declared decides
  // `results`.
  std::string Describe(std::span<const uint32_t> results) const;

  // "constant n" by the name given to Set, else OpName; else "constant_id 5".
  std::string LabelOf(const DeclaredConstant& constant) const;

 private:
  ModuleConstants() = default;

  struct Constituent {
    uint32_t result = 0;
    std::span<const uint32_t> path;  // literals that remain
  };

  void Visit(const Instruction& instruction);
  void AddType(const Instruction& instruction);
  void AddConstant(const Instruction& instruction);
  absl::Status Finish();
  void Evaluate();
  std::optional<Lanes> Operate(const Instruction& instruction) const;
  std::optional<Lanes> Gather(const Instruction& instruction) const;
  std::optional<Lanes> Decode(const Instruction& instruction) const;
  Constituent Descend(const Instruction& extract) const;
  absl::StatusOr<uint32_t> ResolveId(const Constant& constant) const;
  absl::Status SetOne(uint32_t id, const Constant& constant);

  std::vector<DeclaredConstant> declared_;
  std::unordered_map<uint32_t, size_t> index_;  // of declared_, by result
  std::unordered_map<uint32_t, VectorType> types_;
  std::unordered_map<uint32_t, Instruction> constants_;  // by result
  std::vector<Instruction> computed_;  // OpSpecConstantOp and -Composite
  std::unordered_map<uint32_t, NumericValue> values_;  // of computed_
  std::unordered_map<uint32_t, std::string_view> names_;
  std::unordered_map<uint64_t, std::string_view> member_names_;
  std::unordered_map<uint32_t, uint32_t> spec_ids_;   // by result
  std::unordered_map<uint32_t, std::string> labels_;  // by constant_id
  uint32_t workgroup_size_ = 0;
};

// The operands of an OpSpecConstantOp that are ids: the words from the fifth
// on, less the literals of the operations that have some.
std::span<const uint32_t> OperandIds(const Instruction& instruction);

// The bits of an OpConstant or OpSpecConstant of that width, without the sign
// extension that SPIR-V gives to integers narrower than a word.
uint64_t LiteralBits(const Instruction& instruction, uint32_t bits);

}  // namespace kiln::shaders
