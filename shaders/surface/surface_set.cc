// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_set.h"

#include <utility>

#include <fmt/format.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "shaders/surface/surface_rules.h"

namespace kiln::surface {
namespace {

// "KSF" and the format version.
constexpr uint32_t kMagic = 0x0146534B;

absl::Status CheckEntry(std::string_view name, std::string_view text) {
  KILN_RETURN_IF_ERROR(CheckSurfaceName(name));
  if (text.size() > limits::kSurfaceBytes) {
    return absl::InvalidArgumentError(
        fmt::format("{}: the text has {} bytes, over the limit of {}", name,
                    text.size(), limits::kSurfaceBytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint32_t> SurfaceSet::Add(std::string_view name,
                                         std::string_view text) {
  KILN_RETURN_IF_ERROR(CheckEntry(name, text));
  if (const std::optional<uint32_t> known = IndexOf(text)) {
    return *known;
  }
  uint32_t index = 1;
  for (const auto& [used, surface] : surfaces_) {
    if (used != index) {
      break;
    }
    ++index;
  }
  if (index > limits::kSurfaces) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: the program has {} surface shaders, the most there "
                    "can be",
                    name, limits::kSurfaces));
  }
  surfaces_[index] = {std::string(name), std::string(text)};
  return index;
}

absl::Status SurfaceSet::Remove(uint32_t index) {
  if (surfaces_.erase(index) == 0) {
    return absl::NotFoundError(fmt::format("no surface shader {}", index));
  }
  return absl::OkStatus();
}

const Surface* SurfaceSet::Find(uint32_t index) const {
  const auto found = surfaces_.find(index);
  return found == surfaces_.end() ? nullptr : &found->second;
}

std::optional<uint32_t> SurfaceSet::IndexOf(std::string_view text) const {
  for (const auto& [index, surface] : surfaces_) {
    if (surface.text == text) {
      return index;
    }
  }
  return std::nullopt;
}

Digest SurfaceSet::Hash() const {
  return Digest::Of(EncodeSurfaceSet(*this));
}

Bytes EncodeSurfaceSet(const SurfaceSet& set) {
  CanonicalWriter out;
  out.U32(kMagic);
  out.Sequence(set.surfaces(), [&](const auto& entry) {
    out.U32(entry.first);
    out.Text(entry.second.name);
    out.Blob(AsBytes(entry.second.text));
  });
  return std::move(out).Take();
}

absl::StatusOr<SurfaceSet> DecodeSurfaceSet(ByteView bytes) {
  CanonicalReader in(bytes);
  if (const uint32_t magic = in.U32(); magic != kMagic) {
    return absl::InvalidArgumentError(
        fmt::format("surface set: magic is {:#x}, not {:#x}", magic, kMagic));
  }
  SurfaceSet set;
  bool is_canonical = true;
  absl::Status entries;
  uint32_t last = 0;
  in.Sequence(limits::kSurfaces, [&] {
    const uint32_t index = in.U32();
    std::string name = in.Text();
    std::string text(AsText(in.Blob()));
    if (!in.ok()) {
      return;
    }
    entries.Update(CheckEntry(name, text));
    is_canonical &= index > last && index <= limits::kSurfaces &&
                    !set.IndexOf(text).has_value();
    last = index;
    set.surfaces_[index] = {std::move(name), std::move(text)};
  });
  KILN_RETURN_IF_ERROR(in.Finish("surface set"));
  KILN_RETURN_IF_ERROR(entries);
  if (!is_canonical) {
    return absl::InvalidArgumentError(
        "surface set: the indices or texts are not those of a set");
  }
  return set;
}

}  // namespace kiln::surface
