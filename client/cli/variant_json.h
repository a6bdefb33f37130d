// SPDX-License-Identifier: Apache-2.0
#pragma once

// One variant as the command prints it: as a JSON object whose names are part
// of the command's interface, and as a line for people.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "proto/constant.h"
#include "proto/digest.h"

namespace kiln::v1 {
class Completion;
class Variant;
}  // namespace kiln::v1

namespace kiln::cli {

// A value as JSON writes it: true, -3, 1.5; text for 64-bit integers that a
// double does not hold. `type` 0, of an older kilnd: its bits.
nlohmann::json ConstantJson(ConstantType type, uint64_t value);

// key, target, program, label, kind, backdrop, blend, features, overrides,
// compile_ms, blob_bytes, proof; registers, waves, instructions, spills and
// code_bytes where the driver gives them.
nlohmann::json VariantJson(const v1::Variant& variant);

// "5.2 KB, 812.4 ms, 24 registers, 16 waves, proven"
std::string VariantText(const v1::Variant& variant);

// What was asked for, in case the daemon does not say.
struct Asked {
  Digest key;
  Digest target;
  std::string label;
  // Of a living program, whose snapshot only the daemon knows: `key` is none
  // that anything is stored under, and not shown.
  bool living = false;
};

// state "ready" and origin beside VariantJson, or state "failed" or "rejected"
// with error, code and diagnostics, and key unless the program is living.
nlohmann::json CompletionJson(const Asked& asked,
                              const v1::Completion& completion);
std::string CompletionText(const Asked& asked,
                           const v1::Completion& completion);

// "3f2a9c01b2d4 scene opaque/none/alpha Detail", as far as it is known.
std::string AskedText(const Asked& asked);

// state "pending".
nlohmann::json PendingJson(const Asked& asked);

}  // namespace kiln::cli
