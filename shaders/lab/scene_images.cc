// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/scene_images.h"

#include <string>
#include <utility>

#include "shaders/lab/noise_image.h"
#include "shaders/lab/scene_frame.h"
#include "shaders/lab/scene_tables.h"

namespace kiln::lab {
namespace {

constexpr uint32_t kFirstImage = 9;

// Colour, and what surface_map and the layers of the atlas need: no green
// below 0.4, where it is a roughness.
constexpr Texel kSurfaceLow = {0.2f, 0.4f, 0.1f, 0.1f};

NoiseSpec Flat(uint32_t side, bool repeat, Texel low, Texel high) {
  return {.width = side,
          .height = side,
          .repeat = repeat,
          .low = low,
          .high = high};
}

NoiseSpec Layered(uint32_t side, uint32_t layers, bool repeat, Texel low) {
  NoiseSpec spec = Flat(side, repeat, low, {1, 1, 1, 1});
  spec.shape = ImageShape::k2DArray;
  spec.layers = layers;
  return spec;
}

NoiseSpec Volume(uint32_t side, std::string format, Texel low, Texel high) {
  NoiseSpec spec = Flat(side, false, low, high);
  spec.shape = ImageShape::k3D;
  spec.format = std::move(format);
  spec.layers = side;
  return spec;
}

NoiseSpec Cascades() {
  // Around the depth of the origin: about half of the scene is in shadow.
  NoiseSpec spec = Layered(64, 4, false, {});
  spec.format = "d32_sfloat";
  spec.mips = false;
  spec.compare = true;
  spec.low[0] = 0.25f;
  spec.high[0] = 0.75f;
  return spec;
}

NoiseSpec Occlusion(uint32_t width, uint32_t height) {
  return {.format = "r16g16b16a16_sfloat",
          .width = (width + 1) / 2,
          .height = (height + 1) / 2,
          .mips = false,
          .repeat = false,
          .low = {0, 4, 0, 0},
          .high = {1, 9, 1, 1}};
}

// In the order of their bindings; irradiance_maps are three of one binding.
std::vector<std::vector<NoiseSpec>> Specs(uint32_t width, uint32_t height) {
  const Texel zero = {0, 0, 0, 0};
  const Texel one = {1, 1, 1, 1};
  const NoiseSpec mask = Flat(32, true, zero, one);
  NoiseSpec lightmap =
      Layered(32, kSceneLightmapLayers, false, {0.1f, 0.2f, 0.1f, 0.2f});
  lightmap.mips = false;
  NoiseSpec irradiance = Volume(
      8, "r8g8b8a8_snorm", {0.3f, -0.4f, -0.4f, -0.4f}, {1, 0.4f, 0.4f, 0.4f});
  irradiance.mips = false;
  return {
      {Flat(64, true, {0.2f, 0.2f, 0.2f, 0.15f}, one)},          // base
      {Flat(64, true, {0.3f, 0.3f, 0, 0}, {0.7f, 0.7f, 1, 1})},  // normal
      {Flat(64, true, kSurfaceLow, one)},                        // surface
      {mask},                                                    // height
      {mask},                        // detail height
      {mask},                        // blend mask
      {Flat(32, false, zero, one)},  // matcap
      {Flat(32, false, zero, one)},  // environment
      {Layered(32, kSceneAtlasLayers, true, kSurfaceLow)},
      {lightmap},
      {Layered(32, kSceneReflectionProbes, false, zero)},
      {Cascades()},
      {irradiance, irradiance, irradiance},
      {Volume(kSceneVoxelSide, "r8g8b8a8_unorm", zero, {1, 1, 1, 0.6f})},
      {Occlusion(width, height)},
      {mask},                        // caustics
      {Flat(64, false, zero, one)},  // sky
  };
}

}  // namespace

std::vector<BoundInput> SceneImages(uint32_t width, uint32_t height,
                                    Random& random) {
  std::vector<BoundInput> bound;
  for (const std::vector<NoiseSpec>& specs : Specs(width, height)) {
    BoundInput input;
    input.binding = kFirstImage + static_cast<uint32_t>(bound.size());
    for (const NoiseSpec& spec : specs) {
      input.images.push_back(NoiseImage(spec, random));
    }
    bound.push_back(std::move(input));
  }
  return bound;
}

}  // namespace kiln::lab
