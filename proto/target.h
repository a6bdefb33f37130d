// SPDX-License-Identifier: Apache-2.0
#pragma once

// Targets: what a variant is compiled for. A *spec* is what a person or client
// asks for ("radv:vangogh"); an *identity* is what the driver then says it is,
// down to its build id, and its digest is part of every stored key. Opening a
// target is in shaders/pipeline/device.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/digest.h"

namespace kiln {

// A target by name. Thread-compatible value.
//   radv:<family>  Mesa's RADV on null hardware: the real compiler, no GPU
//   lavapipe       Mesa's software rasteriser
//   gpu:<index>    the index-th device of the machine that is not a CPU
//   fake:<name>    none at all: a worker of tests misbehaves as `name` says
struct TargetSpec {
  enum class Driver : uint8_t {
    kRadvNull = 1,
    kLavapipe = 2,
    kGpu = 3,
    kFake = 4,
  };

  Driver driver = Driver::kRadvNull;
  std::string family;  // kRadvNull: "vangogh", "navi21", ...; kFake: its name
  uint32_t index = 0;  // kGpu only

  // Errors: InvalidArgument that lists the three forms that exist.
  static absl::StatusOr<TargetSpec> Parse(std::string_view text);

  std::string ToString() const;

  friend auto operator<=>(const TargetSpec&, const TargetSpec&) = default;
};

inline constexpr std::string_view kDefaultTarget = "radv:vangogh";

// One fact about a device, e.g. {"driver_version", "0x5803006"}. Valid UTF-8.
struct IdentityField {
  std::string name;
  std::string value;

  friend auto operator<=>(const IdentityField&, const IdentityField&) = default;
};

// Everything that must be equal for a blob to be worth trying: vendor, device,
// driver id, version and build id, cache UUID, pointer size, enabled
// extensions and features, layers. Thread-compatible value.
struct TargetIdentity {
  std::string device_name;            // for people; also one of the fields
  std::vector<IdentityField> fields;  // sorted by name

  // SHA-256 of the canonical bytes of `fields`.
  Digest Id() const;
};

}  // namespace kiln
