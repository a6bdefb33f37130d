// SPDX-License-Identifier: Apache-2.0
#pragma once

// The manifest: the list of variants that content needs, as text that people
// and build scripts write and compare. One key a line, as KeyLabel writes it
// without the program's name:
//
//   # what the level "harbour" draws
//   opaque/none/alpha Detail|Height
//   opaque/none/alpha whole
//   blended/sky/additive none NUM_LIGHTS=4|SOFT=true  # lanterns
//
//   line  = kind "/" backdrop "/" blend  features [overrides] ["#" comment]
//   features  = "none" | "whole" | name {"|" name}
//   overrides = name "=" value {"|" name "=" value}
//
// Words are separated by blanks, lines end in LF or CRLF; empty lines and
// lines that begin with '#' say nothing. It holds names, not bits or digests,
// so it survives any edit of the program that keeps its names.
// An example is shaders/scene/scene.manifest.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "proto/variant_key.h"

namespace kiln {

namespace limits {

// One manifest. A line is under 100 bytes in practice; one with all 64 bits
// and 64 overrides under the longest names has 40 KB.
inline constexpr size_t kManifestBytes = 32u << 20;
inline constexpr size_t kManifestLineBytes = 64u << 10;
inline constexpr size_t kManifestKeys = 100000;

}  // namespace limits

// Thread-compatible value.
struct Manifest {
  // Normalised, each once, in the order in which they first appear.
  std::vector<VariantKey> keys;
  // Keys as written; more than `keys` where several lines are one variant.
  size_t written = 0;
};

// Requires: `program_id` is the id of `program`.
// Errors: InvalidArgument with the line's number, naming what does not exist
// and what does, or the limit.
absl::StatusOr<Manifest> ParseManifest(const Program& program,
                                       const Digest& program_id,
                                       std::string_view text);

// The same from a file. Errors: also NotFound and PermissionDenied; all begin
// with the path. Blocks: disk.
absl::StatusOr<Manifest> LoadManifestFile(const Program& program,
                                          const Digest& program_id,
                                          const std::filesystem::path& file);

// The line of `key`, without its end, which `ParseManifest` reads back as the
// same key. Requires: `key` is normalised for `program`.
std::string FormatManifestLine(const Program& program, const VariantKey& key);

}  // namespace kiln
