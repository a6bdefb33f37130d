// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a module's specialization constants are: for tools that show them, for
// programs that name them, and for a key that should not hold those that
// change nothing (KNOWN_FAULTS 34). Reads names, so a module compiled with
// CompileStage, not one that was stripped.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/constant.h"

namespace kiln::shaders {

struct ReflectedConstant {
  uint32_t id = 0;   // constant_id
  std::string name;  // OpName, valid UTF-8; may be empty: `local_size_x_id`
  ConstantType type = ConstantType::kUint32;
  uint64_t default_value = 0;
  // False when removing dead code removes it: no value of it changes what the
  // module does. True for one that sizes the workgroup or an array in use, or
  // that another used constant is computed from.
  bool used = false;

  friend auto operator<=>(const ReflectedConstant&,
                          const ReflectedConstant&) = default;
};

// Requires: a validated module. Thread-safe.
// Returns: sorted by id, one element per id. Constants that share an id are
// one; the default is then that of the named one.
// Errors: InvalidArgument naming an id that has two types or two names, or
// when the words are no module.
// Blocks: a tenth of a second for a megabyte of module.
absl::StatusOr<std::vector<ReflectedConstant>> ReflectConstants(
    std::span<const uint32_t> spirv);

// The constant_ids of a compute module's workgroup size in x, y and z; nullopt
// where it is no specialization constant.
// Requires: a validated module. Thread-safe.
// Of several compute entry points, those of the first.
// Errors: InvalidArgument when the words are no module.
absl::StatusOr<std::array<std::optional<uint32_t>, 3>> WorkgroupSizeIds(
    std::span<const uint32_t> spirv);

}  // namespace kiln::shaders
