// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gives a module's specialization constants their values for good, so that
// what a driver is handed has none left and its sizes can be read off
// (KNOWN_FAULTS 15). Everything computed from them is folded: integers of all
// widths, conversions, vectors; SPIRV-Tools 2023.1 folds 32-bit integers and
// booleans only. Result ids and names stay. Removing the code that the values
// turn off is another step; whether a device can run the result is
// module_limits.h's.

#include <cstdint>
#include <map>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/constant.h"
#include "proto/spirv_view.h"
#include "shaders/constant_arithmetic.h"

namespace kiln::shaders {

class ModuleConstants;
struct DeclaredConstant;
struct VectorType;

enum class Revalidation : uint8_t {
  // Only when a value decides something the validator looks at: a type, a
  // workgroup size, an operand that must be a constant. Else the module is as
  // valid as it was. Validating takes a hundred times as long as freezing.
  kWhereValuesMatter,
  kAlways,
  kNever,  // for callers that validate what they make of it
};

// Freezes every specialization constant of `spirv`: to the value given, by id
// or, with kIdByName, by OpName; else to its default. An integer of another
// type is taken where its number fits. Constants of one constant_id all get
// the value given; without one, each keeps its own default, as in Vulkan.
// Requires: a validated module. Thread-safe.
// Returns: the frozen module.
// Errors: InvalidArgument naming the constant: none has that id or name, it is
// given twice, its value does not fit its type, makes an array that no device
// could hold or otherwise an invalid module.
absl::StatusOr<std::vector<uint32_t>> FreezeConstants(
    std::span<const uint32_t> spirv, std::span<const Constant> constants,
    Revalidation revalidation = Revalidation::kWhereValuesMatter);

// Whether the validity of a module, or what CheckModuleLimits says of it, may
// depend on the values of its specialization constants. May say yes of one
// whose literals look like ids. Requires: a validated module.
bool ValuesDecideValidity(std::span<const uint32_t> spirv);

// Freezes one instruction after the other: what FreezeConstants is made of, for
// those that write a module themselves (shaders/specialise/).
// Thread-compatible. Lifetime: `constants`, which has the values, outlives it.
class ConstantFreezer {
 public:
  // Ids from `bound` on are free; a vector's lanes may need some.
  ConstantFreezer(const ModuleConstants& constants, uint32_t bound);

  // Appends what the instruction becomes: nothing of a SpecId decoration, a
  // constant of a specialization constant, after those that it is made of where
  // they are new; else the instruction. Requires: called in the module's order.
  void Append(const Instruction& instruction, std::vector<uint32_t>& out);

  uint32_t bound() const { return bound_; }

 private:
  void AppendDeclared(const Instruction& instruction,
                      std::vector<uint32_t>& out) const;
  void AppendComposite(const Instruction& instruction,
                       std::vector<uint32_t>& out);
  void AppendComputed(const Instruction& instruction,
                      std::vector<uint32_t>& out);
  uint32_t LaneId(const VectorType& type, uint64_t value,
                  std::vector<uint32_t>& out);

  const ModuleConstants& constants_;
  uint32_t bound_;
  std::map<uint32_t, const DeclaredConstant*> declared_;  // by result
  std::unordered_set<uint32_t> unfolded_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> lane_ids_;
};

// Appends the constant `value` of a scalar type, as `result`.
void AppendScalarConstant(const NumericType& type, uint32_t type_id,
                          uint32_t result, uint64_t value,
                          std::vector<uint32_t>& out);

}  // namespace kiln::shaders
