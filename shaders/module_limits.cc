// SPDX-License-Identifier: Apache-2.0
#include "shaders/module_limits.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <spirv/unified1/spirv.hpp11>

#include "proto/limits.h"
#include "proto/spirv_view.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/module_constants.h"
#include "shaders/module_sizes.h"
#include "shaders/spirv_op.h"

namespace kiln::shaders {
namespace {

// Drivers count the bytes of one object in 32 bits.
constexpr uint64_t kObjectBytes = std::numeric_limits<uint32_t>::max();

// Where one dimension of a workgroup comes from: a literal or a constant.
struct Dimension {
  uint64_t size = 1;
  uint32_t result = 0;  // 0: a literal
};

using Dimensions = std::array<Dimension, 3>;

// `why` after the constants it is due to, if there are some.
absl::Status Refuse(const ModuleConstants& constants,
                    std::span<const uint32_t> results, std::string_view why) {
  const std::string who = constants.Describe(results);
  return absl::InvalidArgumentError(
      Shorten(fmt::format("{}{}{}", who, who.empty() ? "" : ": ", why),
              limits::kStatusTextBytes));
}

// The workgroup of each entry point that has one.
class Workgroups {
 public:
  Workgroups(std::span<const uint32_t> spirv, const ModuleConstants& constants)
      : constants_(constants) {
    ForEachInstruction(
        spirv, [this](const Instruction& instruction) { Visit(instruction); });
  }

  absl::Status Check(const ModuleLimits& limits) const {
    for (const auto& [entry, size] : sizes_) {
      KILN_RETURN_IF_ERROR(CheckOne(size, limits));
    }
    return absl::OkStatus();
  }

 private:
  void Visit(const Instruction& instruction) {
    const auto mode = static_cast<spv::ExecutionMode>(instruction.word(2));
    const auto op = OpOf(instruction);
    const bool literal =
        op == spv::Op::OpExecutionMode && mode == spv::ExecutionMode::LocalSize;
    const bool by_id = op == spv::Op::OpExecutionModeId &&
                       mode == spv::ExecutionMode::LocalSizeId;
    if (literal || by_id) {
      Dimensions& size = sizes_[instruction.word(1)];
      for (size_t i = 0; i < size.size(); ++i) {
        const uint32_t word = instruction.word(3 + i);
        size[i] = literal ? Dimension{word, 0} : FromConstant(word, 0);
      }
      // The decorated vector counts before any execution mode.
      for (size_t i = 0; i < size.size() && constants_.workgroup_size() != 0;
           ++i) {
        size[i] = FromConstant(constants_.workgroup_size(), i);
      }
    }
  }

  // Zero, which is refused, for what cannot be computed.
  Dimension FromConstant(uint32_t result, size_t lane) const {
    const std::optional<NumericValue> value = constants_.Value(result);
    return {value && lane < value->lanes.size() ? value->lanes[lane] : 0,
            result};
  }

  absl::Status CheckOne(const Dimensions& size,
                        const ModuleLimits& limits) const {
    const std::string text =
        fmt::format("{} x {} x {}", size[0].size, size[1].size, size[2].size);
    uint64_t invocations = 1;
    std::vector<uint32_t> results;
    for (size_t i = 0; i < size.size(); ++i) {
      if (size[i].size == 0 || size[i].size > limits.workgroup_size[i]) {
        return Refuse(
            constants_, std::span(&size[i].result, 1),
            fmt::format("the workgroup would be {}, {} the limit of {} in {}",
                        text, size[i].size == 0 ? "outside 1 to" : "over",
                        limits.workgroup_size[i], "xyz"[i]));
      }
      invocations = SaturatingMultiply(invocations, size[i].size);
      results.push_back(size[i].result);
    }
    if (invocations > limits.workgroup_invocations) {
      return Refuse(
          constants_, results,
          fmt::format("the workgroup of {} would have {} "
                      "invocations, over the limit of {}",
                      text, invocations, limits.workgroup_invocations));
    }
    return absl::OkStatus();
  }

  const ModuleConstants& constants_;
  std::map<uint32_t, Dimensions> sizes_;  // by entry point
};

// What all variables of some storage classes have together.
struct Total {
  uint64_t bytes = 0;
  uint64_t block_bytes = 0;  // the largest block; blocks share their memory
  std::vector<uint32_t> types;

  uint64_t all() const { return SaturatingAdd(bytes, block_bytes); }
};

class Variables {
 public:
  Variables(std::span<const uint32_t> spirv, const ModuleConstants& constants,
            const ModuleLimits& limits)
      : constants_(constants), limits_(limits), sizes_(spirv, constants) {}

  absl::Status Check() {
    for (const ModuleVariable& variable : sizes_.variables()) {
      KILN_RETURN_IF_ERROR(CheckVariable(variable));
    }
    for (const uint32_t array : sizes_.arrays()) {
      KILN_RETURN_IF_ERROR(CheckArray(array, "an array"));
      if (sizes_.SizeOf(array).bytes > kObjectBytes) {
        return TooLarge(array, "of no variable", sizes_.SizeOf(array).bytes,
                        "bytes", kObjectBytes);
      }
    }
    KILN_RETURN_IF_ERROR(
        CheckTotal(shared_, "shared memory", limits_.shared_bytes));
    return CheckTotal(private_, "memory per invocation", limits_.private_bytes);
  }

 private:
  std::string NameOf(const ModuleVariable& variable) const {
    const std::string name = sizes_.PathTo(variable, variable.type);
    return name.empty() ? "a variable" : fmt::format("`{}`", name);
  }

  // Refuses an array type whose length no array can have.
  absl::Status CheckArray(uint32_t type, std::string_view what) const {
    const uint32_t array = sizes_.SizeOf(type).bad_array;
    if (array == 0) {
      return absl::OkStatus();
    }
    std::vector<uint32_t> lengths = sizes_.LengthsIn(array);
    lengths.resize(std::min<size_t>(1, lengths.size()));  // its own only
    return Refuse(constants_, lengths,
                  fmt::format("{} would have {} elements, under the limit of 1",
                              what, sizes_.LengthText(array)));
  }

  // `type` is what is too large; an array also says its length.
  absl::Status TooLarge(uint32_t type, std::string_view what, uint64_t size,
                        std::string_view unit, uint64_t limit) const {
    const bool array = std::ranges::count(sizes_.arrays(), type) != 0;
    const std::string length =
        array ? sizes_.LengthText(type) + " elements, " : "";
    return Refuse(
        constants_, sizes_.LengthsIn(type),
        fmt::format("{}{} would have {}{} {}, over the limit of {}",
                    array ? "array " : "", what, length, size, unit, limit));
  }

  absl::Status CheckVariable(const ModuleVariable& variable) {
    const TypeSize& size = sizes_.SizeOf(variable.type);
    if (size.bad_array != 0) {
      const std::string path = sizes_.PathTo(variable, size.bad_array);
      return CheckArray(variable.type, path.empty()
                                           ? "an array"
                                           : fmt::format("array `{}`", path));
    }
    switch (static_cast<spv::StorageClass>(variable.storage_class)) {
      case spv::StorageClass::Workgroup:
        return Add(variable, limits_.shared_bytes, "bytes of shared memory",
                   shared_);
      case spv::StorageClass::Private:
      case spv::StorageClass::Function:
        return Add(variable, limits_.private_bytes,
                   "bytes of memory per invocation", private_);
      case spv::StorageClass::Input:
      case spv::StorageClass::Output:
        return CheckOne(variable, size.components, "components",
                        limits_.interface_components);
      case spv::StorageClass::UniformConstant:
        return CheckOne(variable, size.descriptors, "descriptors",
                        limits_.descriptors);
      case spv::StorageClass::Uniform:
      case spv::StorageClass::StorageBuffer:
        KILN_RETURN_IF_ERROR(CheckOne(variable, size.descriptors, "descriptors",
                                      limits_.descriptors));
        [[fallthrough]];
      default:
        return CheckOne(variable, size.bytes, "bytes", kObjectBytes);
    }
  }

  absl::Status CheckOne(const ModuleVariable& variable, uint64_t size,
                        std::string_view unit, uint64_t limit) const {
    return size <= limit
               ? absl::OkStatus()
               : TooLarge(variable.type, NameOf(variable), size, unit, limit);
  }

  absl::Status Add(const ModuleVariable& variable, uint64_t limit,
                   std::string_view unit, Total& total) {
    const TypeSize& size = sizes_.SizeOf(variable.type);
    KILN_RETURN_IF_ERROR(CheckOne(variable, size.bytes, unit, limit));
    if (sizes_.IsBlock(variable.type)) {
      total.block_bytes = std::max(total.block_bytes, size.bytes);
    } else {
      total.bytes =
          SaturatingAdd(AlignUp(total.bytes, size.alignment), size.bytes);
    }
    total.types.push_back(variable.type);
    return absl::OkStatus();
  }

  // The sum of variables that are each small enough.
  absl::Status CheckTotal(const Total& total, std::string_view what,
                          uint64_t limit) const {
    if (total.all() <= limit) {
      return absl::OkStatus();
    }
    std::vector<uint32_t> lengths;
    for (const uint32_t type : total.types) {
      const std::vector<uint32_t> more = sizes_.LengthsIn(type);
      lengths.insert(lengths.end(), more.begin(), more.end());
    }
    return Refuse(constants_, lengths,
                  fmt::format("the module would have {} bytes of {} in {} "
                              "variables, over the limit of {}",
                              total.all(), what, total.types.size(), limit));
  }

  const ModuleConstants& constants_;
  const ModuleLimits& limits_;
  const ModuleSizes sizes_;
  Total shared_;
  Total private_;
};

}  // namespace

ModuleLimits ModuleLimits::OfNoDevice() {
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  return {.workgroup_size = {kMost, kMost, kMost},
          .workgroup_invocations = kMost,
          .shared_bytes = kMost,
          .private_bytes = kMost,
          .interface_components = 4096,
          .descriptors = kMost};
}

absl::Status CheckModuleLimits(std::span<const uint32_t> spirv,
                               std::span<const Constant> constants,
                               const ModuleLimits& limits) {
  KILN_ASSIGN_OR_RETURN(ModuleConstants module, ModuleConstants::Parse(spirv));
  KILN_RETURN_IF_ERROR(module.Set(constants));
  return CheckModuleLimits(spirv, module, limits);
}

absl::Status CheckModuleLimits(std::span<const uint32_t> spirv,
                               const ModuleConstants& constants,
                               const ModuleLimits& limits) {
  KILN_RETURN_IF_ERROR(Workgroups(spirv, constants).Check(limits));
  return Variables(spirv, constants, limits).Check();
}

}  // namespace kiln::shaders
