// SPDX-License-Identifier: Apache-2.0
#pragma once

// The surface shaders of one program, by the index that draws select them with
// (SPEC section 5). Index 0 is the base: the program's own surface. A text has
// one index, however often and under whatever name it is added. What becomes of
// a set is in surface_program.h.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/digest.h"

namespace kiln::surface {

struct Surface {
  std::string name;  // as its author calls it, in diagnostics
  std::string text;

  friend bool operator==(const Surface&, const Surface&) = default;
};

// Thread-compatible value.
class SurfaceSet {
 public:
  // Gives `text` the lowest free index, from 1; if the set has it already, its
  // old index, and the old name stays. Requires: CheckSurface accepted it.
  // Errors: InvalidArgument for a text over limits::kSurfaceBytes or a name
  // that CheckSurfaceName refuses; ResourceExhausted with limits::kSurfaces.
  absl::StatusOr<uint32_t> Add(std::string_view name, std::string_view text);

  // Frees an index. Errors: NotFound naming it.
  absl::Status Remove(uint32_t index);

  // Returns: null where the index is free. Lifetime: until the set changes.
  const Surface* Find(uint32_t index) const;

  std::optional<uint32_t> IndexOf(std::string_view text) const;

  // Ascending by index, without the free ones.
  const std::map<uint32_t, Surface>& surfaces() const { return surfaces_; }

  size_t size() const { return surfaces_.size(); }

  bool empty() const { return surfaces_.empty(); }

  // The SHA-256 of EncodeSurfaceSet.
  Digest Hash() const;

  friend bool operator==(const SurfaceSet&, const SurfaceSet&) = default;

 private:
  friend absl::StatusOr<SurfaceSet> DecodeSurfaceSet(ByteView bytes);

  std::map<uint32_t, Surface> surfaces_;
};

// Canonical bytes (storage/FORMAT.md, "Surface set"):
//   U32 magic "KSF" 01, then a sequence, ascending by index, of
//     U32 index, Text name, Blob text
Bytes EncodeSurfaceSet(const SurfaceSet& set);

// Errors: InvalidArgument when `bytes` are not the canonical encoding of a set.
absl::StatusOr<SurfaceSet> DecodeSurfaceSet(ByteView bytes);

}  // namespace kiln::surface
