// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a SPIR-V module declares to the outside: what an engine needs to make
// layouts and to bind by name. Found by reflection when the module is made
// (shaders/interface_reflection.h) and kept with it.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/constant.h"

namespace kiln {

// A descriptor. Names are OpNames: valid UTF-8, empty in a stripped module.
struct InterfaceBinding {
  std::string name;
  uint32_t set = 0;
  uint32_t binding = 0;
  std::string type;    // a VkDescriptorType: "combined_image_sampler"
  uint32_t count = 1;  // 0: sized at run time

  friend auto operator<=>(const InterfaceBinding&,
                          const InterfaceBinding&) = default;
};

struct PushConstantMember {
  std::string name;
  uint32_t offset_bytes = 0;
  uint32_t size_bytes = 0;

  friend auto operator<=>(const PushConstantMember&,
                          const PushConstantMember&) = default;
};

// An input or output with a location.
struct InterfaceVariable {
  std::string name;
  uint32_t location = 0;
  uint32_t component = 0;
  std::string type;    // as GLSL calls it: "vec4", "uint", "mat3"
  uint32_t count = 1;  // elements, of an array

  friend auto operator<=>(const InterfaceVariable&,
                          const InterfaceVariable&) = default;
};

struct InterfaceConstant {
  uint32_t id = 0;  // constant_id
  std::string name;
  ConstantType type = ConstantType::kUint32;
  uint64_t default_value = 0;  // bits, as in Constant
  bool used = false;           // false: no value of it changes anything

  friend auto operator<=>(const InterfaceConstant&,
                          const InterfaceConstant&) = default;
};

// Thread-compatible value. Every list is sorted.
struct ModuleInterface {
  std::string entry_point{};
  std::vector<InterfaceBinding> bindings{};  // by set, then binding
  std::vector<PushConstantMember> push_constants{};
  std::vector<InterfaceConstant> constants{};  // by id
  std::vector<InterfaceVariable> inputs{};     // by location, then component
  std::vector<InterfaceVariable> outputs{};
  // Compute: the local size in x, y and z, by the constants' defaults, and the
  // constants that set it.
  std::array<uint32_t, 3> workgroup_size{};
  std::array<std::optional<uint32_t>, 3> workgroup_size_ids{};

  friend bool operator==(const ModuleInterface&,
                         const ModuleInterface&) = default;
};

// Canonical bytes (storage/FORMAT.md, "Module interface").
Bytes EncodeInterface(const ModuleInterface& interface);

// Errors: InvalidArgument when `bytes` are not a canonical interface.
absl::StatusOr<ModuleInterface> DecodeInterface(ByteView bytes);

}  // namespace kiln
