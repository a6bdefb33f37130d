// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/scene_mesh.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "shaders/lab/vectors.h"

namespace kiln::lab {
namespace {

// Bumps of a surface: three waves across it.
struct Bumps {
  struct Ripple {
    float along_u, along_v, phase, height;
  };

  std::array<Ripple, 3> ripples;
};

Bumps RandomBumps(Random& random) {
  Bumps bumps{};
  for (Bumps::Ripple& ripple : bumps.ripples) {
    ripple = {random.Between(-2, 2), random.Between(-2, 2), random.Unit(),
              random.Between(0.03f, 0.16f)};
  }
  return bumps;
}

float HeightAt(const Bumps& bumps, float u, float v) {
  float height = 0;
  for (const Bumps::Ripple& ripple : bumps.ripples) {
    height += ripple.height *
              Wave(ripple.along_u * u + ripple.along_v * v + ripple.phase);
  }
  return height;
}

// A point of `part`; u and v in 0 to 1. The cross product of the derivatives
// by u and by v points outwards.
Vec3 PointAt(ScenePart part, const Bumps& bumps, float u, float v) {
  const float bump = HeightAt(bumps, u, v);
  switch (part) {
    case ScenePart::kGround:
      return {12 * u - 6, bump, 6 - 12 * v};
    case ScenePart::kWall:
      return {10 * u - 5, 6 * v, bump};
    case ScenePart::kBall: {
      // Short of the poles, where there is no tangent.
      const float latitude = 0.48f * (v - 0.5f);
      const float ring = Wave(latitude + 0.25f);
      return {ring * Wave(u + 0.25f), Wave(latitude), -ring * Wave(u)};
    }
    case ScenePart::kRing: {
      const float ring = 0.9f + (0.4f + 0.3f * bump) * Wave(v + 0.25f);
      return {ring * Wave(u + 0.25f), ring * Wave(u), 0.4f * Wave(v)};
    }
  }
  return {};
}

void AppendBytes(Bytes& bytes, uint32_t word, int width) {
  for (int shift = 0; shift < width; shift += 8) {
    bytes.push_back(static_cast<std::byte>(word >> shift));
  }
}

void AppendFloat(Bytes& bytes, float number) {
  AppendBytes(bytes, std::bit_cast<uint32_t>(number), 32);
}

void AppendSnorm16(Bytes& bytes, float number) {
  const float clamped = std::clamp(number, -1.0f, 1.0f);
  AppendBytes(bytes, static_cast<uint32_t>(std::lround(clamped * 32767.0f)),
              16);
}

void AppendDirection(Bytes& bytes, Vec3 direction, float w) {
  AppendSnorm16(bytes, direction.x);
  AppendSnorm16(bytes, direction.y);
  AppendSnorm16(bytes, direction.z);
  AppendSnorm16(bytes, w);
}

// The colour's alpha paints the second layer: waves, so that its edge lies
// within the part.
uint32_t ColourAt(const Bumps& tone, float u, float v) {
  const auto channel = [&](float shift, float low) {
    const float wave = 0.5f + 2.0f * HeightAt(tone, u + shift, v - shift);
    return static_cast<uint32_t>(
        std::lround(255.0f * std::clamp(wave, low, 1.0f)));
  };
  return channel(0.0f, 0.5f) | channel(0.3f, 0.5f) << 8 |
         channel(0.6f, 0.5f) << 16 | channel(0.9f, 0.0f) << 24;
}

void AppendVertex(ScenePart part, const Bumps& bumps, const Bumps& tone,
                  float u, float v, Bytes& bytes) {
  constexpr float kStep = 1e-2f;
  const Vec3 along_u =
      PointAt(part, bumps, u + kStep, v) - PointAt(part, bumps, u - kStep, v);
  const Vec3 along_v =
      PointAt(part, bumps, u, v + kStep) - PointAt(part, bumps, u, v - kStep);
  const Vec3 point = PointAt(part, bumps, u, v);
  AppendFloat(bytes, point.x);
  AppendFloat(bytes, point.y);
  AppendFloat(bytes, point.z);
  AppendDirection(bytes, Normalized(Cross(along_u, along_v)), 0);
  AppendDirection(bytes, Normalized(along_u), 1);
  AppendFloat(bytes, 3 * u);
  AppendFloat(bytes, 3 * v);
  AppendFloat(bytes, u);
  AppendFloat(bytes, v);
  AppendBytes(bytes, ColourAt(tone, u, v), 32);
}

MeshPart AppendPart(ScenePart part, uint32_t quads, Random& random,
                    SceneMesh& mesh) {
  const Bumps bumps = RandomBumps(random);
  const Bumps tone = RandomBumps(random);
  const auto base =
      static_cast<uint32_t>(mesh.vertices.size() / kSceneVertexBytes);
  const auto first = static_cast<uint32_t>(mesh.indices.size());
  const float scale = 1.0f / static_cast<float>(quads);
  for (uint32_t row = 0; row <= quads; ++row) {
    for (uint32_t column = 0; column <= quads; ++column) {
      AppendVertex(part, bumps, tone, static_cast<float>(column) * scale,
                   static_cast<float>(row) * scale, mesh.vertices);
    }
  }
  const uint32_t stride = quads + 1;
  for (uint32_t row = 0; row < quads; ++row) {
    for (uint32_t column = 0; column < quads; ++column) {
      const uint32_t corner = base + row * stride + column;
      for (const uint32_t index :
           {corner, corner + 1, corner + stride + 1, corner,
            corner + stride + 1, corner + stride}) {
        mesh.indices.push_back(index);
      }
    }
  }
  return {first, static_cast<uint32_t>(mesh.indices.size()) - first};
}

}  // namespace

SceneMesh MakeSceneMesh(uint32_t quads, Random& random) {
  SceneMesh mesh;
  for (uint32_t part = 0; part < kSceneParts; ++part) {
    mesh.parts[part] =
        AppendPart(static_cast<ScenePart>(part), quads, random, mesh);
  }
  return mesh;
}

}  // namespace kiln::lab
