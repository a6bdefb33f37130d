// SPDX-License-Identifier: Apache-2.0
#include "client/demo/level.h"

#include <array>
#include <set>

#include <fmt/format.h>

#include "proto/status_macros.h"

namespace kiln::demo {
namespace {

struct SurfaceSource {
  const char* name;
  const char* kind;
  const char* backdrop;
  const char* blend;
  const char* features;
};

// Typical draws: few blocks each, the frame's own ones (shadows, probes) often.
constexpr std::array<SurfaceSource, 16> kSurfaces = {{
    {"terrain", "opaque", "none", "", "Height,ProbeVolume,SunShadows"},
    {"cliff", "opaque", "none", "", "Detail,Height,SunShadows"},
    {"road", "opaque", "none", "", "Detail,SunShadows"},
    {"house", "opaque", "none", "",
     "Detail,ProbeVolume,Reflections,SunShadows"},
    {"window", "opaque", "none", "", "Reflections"},
    {"barrel", "opaque", "none", "", "SunShadows"},
    {"cave wall", "opaque", "none", "", "Height,ProbeVolume"},
    {"cave floor", "opaque", "none", "", "ProbeVolume"},
    {"prop, unlit", "opaque", "none", "", "none"},
    {"lake bed", "opaque", "none", "", "Detail,Water,SunShadows"},
    {"hills on the horizon", "opaque", "sky", "", "Detail"},
    {"pond", "blended", "none", "alpha", "Reflections,Water"},
    {"smoke", "blended", "none", "premultiplied", "ProbeVolume"},
    {"spark", "blended", "none", "additive", "none"},
    {"fence, shadow pass", "depth", "", "", "Detail"},
    {"cliff, shadow pass", "depth", "", "", "Height"},
}};

absl::StatusOr<std::vector<Surface>> MakePlainLevel(const Program& program,
                                                    const Digest& program_id) {
  std::vector<FeatureMask> masks = {0};
  for (const FeatureBit& feature : program.features) {
    masks.push_back(FeatureMask{1} << feature.bit);
  }
  std::vector<Surface> level;
  std::set<VariantKey> keys;
  for (const Kind& kind : program.kinds) {
    for (const FeatureMask features : masks) {
      VariantKey key{program_id, kind.value.name, "", "", features, {}};
      KILN_ASSIGN_OR_RETURN(key, NormaliseKey(program, std::move(key)));
      if (keys.insert(key).second) {
        level.push_back({fmt::format("{} {}", kind.value.name,
                                     program.FeatureText(features)),
                         std::move(key)});
      }
    }
  }
  return level;
}

}  // namespace

absl::StatusOr<std::vector<Surface>> MakeLevel(const Program& program,
                                               const Digest& program_id) {
  if (program.name != "scene") {
    return MakePlainLevel(program, program_id);
  }
  std::vector<Surface> level;
  for (const SurfaceSource& source : kSurfaces) {
    KILN_ASSIGN_OR_RETURN(const FeatureMask features,
                          program.ParseFeatures(source.features));
    VariantKey key{program_id,   source.kind, source.backdrop,
                   source.blend, features,    {}};
    KILN_ASSIGN_OR_RETURN(key, NormaliseKey(program, std::move(key)));
    level.push_back({source.name, std::move(key)});
  }
  return level;
}

}  // namespace kiln::demo
