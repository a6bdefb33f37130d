// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/scene_frame.h"

#include "shaders/lab/lane_writer.h"

namespace kiln::lab {
namespace {

constexpr uint32_t kCascades = 4;
constexpr uint32_t kPlayers = 4;
constexpr uint32_t kDebugViews = 11;

// Texels of an image of the screen at half its size.
uint32_t HalfSize(uint32_t pixels) {
  return (pixels + 1) / 2;
}

Vec3 RandomIn(Vec3 low, Vec3 high, Random& random) {
  return {random.Between(low.x, high.x), random.Between(low.y, high.y),
          random.Between(low.z, high.z)};
}

void Color(LaneWriter& out, float low, float high, float w, Random& random) {
  const Vec3 color = RandomIn({low, low, low}, {high, high, high}, random);
  out.Floats(color.x, color.y, color.z, w);
}

void Matrix(LaneWriter& out, const Rows& rows) {
  for (uint32_t column = 0; column < 4; ++column) {
    out.Floats(rows[0][column], rows[1][column], rows[2][column],
               rows[3][column]);
  }
}

// World to texture space of a cascade `size` metres wide around the origin:
// depth 0 is towards the sun, 0.5 at the origin.
Rows CascadeMatrix(Vec3 sun, float size) {
  const Axes axes = AxesAlong(sun);
  const auto row = [](Vec3 axis, float scale) {
    return std::array<float, 4>{axis.x * scale, axis.y * scale, axis.z * scale,
                                0.5f};
  };
  return {row(axes.x, 1 / size), row(axes.y, 1 / size), row(axes.z, -1.0f / 24),
          std::array<float, 4>{0, 0, 0, 1}};
}

// From `switches` to `viewport`.
void ViewLanes(LaneWriter& out, const SceneView& view, Random& random) {
  const scene::FrameLanes& lanes = view.lanes;
  out.Uints(lanes.switches[0], lanes.switches[1], lanes.switches[2],
            lanes.switches[3]);
  out.Uints(lanes.counts[0], lanes.counts[1], lanes.counts[2], lanes.counts[3]);
  out.Floats(lanes.strengths[0], lanes.strengths[1], lanes.strengths[2],
             lanes.strengths[3]);
  out.Floats(view.eye.x, view.eye.y, view.eye.z, random.Between(1, 60));
  out.Floats(1.0f / static_cast<float>(view.width),
             1.0f / static_cast<float>(view.height),
             1.0f / static_cast<float>(HalfSize(view.width)),
             1.0f / static_cast<float>(HalfSize(view.height)));
}

// From `sun` to `water`.
void AirLanes(LaneWriter& out, const SceneView& view, Vec3 sun,
              Random& random) {
  out.Floats(sun.x, sun.y, sun.z, 0);
  Color(out, 0.6f, 1.0f, 0, random);  // sun
  Color(out, 0.1f, 0.6f, 0, random);  // ambient
  // A backdrop stands behind kilometres of air, and shows in thin air only.
  const float density = random.Half() ? random.Between(0.005f, 0.05f)
                                      : random.Between(1e-5f, 1e-4f);
  Color(out, 0.2f, 0.7f, density, random);  // fog
  const Vec3 focus =
      view.eye + (view.target - view.eye) * random.Between(1.1f, 1.6f);
  out.Floats(focus.x, focus.y, focus.z, random.Between(1.5f, 3));
  const Vec3 head = RandomIn({-2, 0, -2}, {2, 2, 2}, random);
  out.Floats(head.x, head.y, head.z, 0);
  const Vec3 waves = RandomIn({0.1f, -0.3f, -0.3f}, {0.5f, 0.3f, 0.3f}, random);
  out.Floats(WaterSurface(view), waves.x, waves.y, waves.z);
}

// From `cascade_far` to `players`.
void PlaceLanes(LaneWriter& out, Random& random) {
  out.Floats(4, 6.5f, 10, 18);
  out.Floats(0.05f, 0.1f, 0.2f, 0.4f);
  // The volume is a little smaller than the scene: its edge shows too.
  out.Floats(-5, -2, -5, 1.0f / static_cast<float>(kSceneProbeGroups));
  out.Floats(0.1f, 0.125f, 0.1f, random.Between(0, 0.3f));
  const float cell = 0.75f;
  const float size = cell * static_cast<float>(kSceneVoxelSide);
  out.Floats(-size / 2, -3, -size / 2, cell);
  out.Floats(1 / size, 1 / size, 1 / size, 4);
  for (uint32_t i = 0; i < kPlayers; ++i) {
    const Vec3 feet = RandomIn({-3, -0.5f, -2.5f}, {3, 0.5f, 3}, random);
    out.Floats(feet.x, feet.y, feet.z, random.Between(0.4f, 1));
  }
}

}  // namespace

SceneView RandomView(uint32_t width, uint32_t height, Random& random) {
  const float turn = random.Between(-0.12f, 0.12f);
  const float rise = random.Between(0.03f, 0.14f);
  const float away = random.Between(4.5f, 8);
  const float flat = away * Wave(rise + 0.25f);
  SceneView view;
  view.width = width;
  view.height = height;
  view.target = RandomIn({-0.7f, 0.5f, -0.7f}, {0.7f, 1.5f, 0.7f}, random);
  view.eye = view.target + Vec3{flat * Wave(turn), away * Wave(rise),
                                flat * Wave(turn + 0.25f)};
  view.tangent = random.Between(0.45f, 0.75f);
  view.lanes = RandomFrameLanes(random);
  return view;
}

scene::FrameLanes RandomFrameLanes(Random& random) {
  scene::FrameLanes lanes;
  lanes.switches[0] = random.Bits();  // bits without a name gate nothing
  // A debug view hides most blocks, so it is rarer than the others.
  lanes.switches[1] = random.OneIn(4) ? 1 + random.Below(kDebugViews) : 0;
  lanes.switches[2] = random.Half() ? kSceneLightmapLayers : 0;
  lanes.switches[3] = random.ZeroOr(4096);
  lanes.counts = {random.ZeroOr(kSceneReflectionProbes),
                  random.ZeroOr(kSceneWaterBodies),
                  random.ZeroOr(kSceneLatticeRegions),
                  random.ZeroOr(kPlayers + 2)};  // the shader caps it
  lanes.strengths = {random.OneIn(4) ? 0.0f : random.Between(0.5f, 3),
                     random.OneIn(4) ? 0.0f : random.Between(0.4f, 1),
                     random.Between(0.5f, 1.5f), random.Between(0.5f, 2)};
  return lanes;
}

float WaterSurface(const SceneView& view) {
  const bool submerged =
      (view.lanes.switches[0] & scene::kFrameEyeSubmerged) != 0;
  return submerged ? view.eye.y + 0.5f : 0.6f * view.eye.y;
}

Bytes FrameBlock(const SceneView& view, Random& random) {
  // High enough that the wall, the ground and the sun see each other.
  const Vec3 sun =
      Normalized(RandomIn({-0.7f, 0.5f, 0.2f}, {0.7f, 1, 1}, random));
  LaneWriter out;
  ViewLanes(out, view, random);
  AirLanes(out, view, sun, random);
  PlaceLanes(out, random);
  for (uint32_t i = 0; i < kCascades; ++i) {
    Matrix(out, CascadeMatrix(sun, 8.0f + 6.0f * static_cast<float>(i)));
  }
  const float aspect =
      static_cast<float>(view.width) / static_cast<float>(view.height);
  Matrix(out, WorldToClip(view.eye, view.target, view.tangent, aspect, 0.05f));
  return out.Take();
}

}  // namespace kiln::lab
