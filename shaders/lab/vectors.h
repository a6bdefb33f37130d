// SPDX-License-Identifier: Apache-2.0
#pragma once

// The little linear algebra that making a scene takes. Right-handed, y up.

#include <array>
#include <cmath>

namespace kiln::lab {

struct Vec3 {
  float x = 0;
  float y = 0;
  float z = 0;

  friend Vec3 operator+(Vec3 a, Vec3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }

  friend Vec3 operator-(Vec3 a, Vec3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }

  friend Vec3 operator*(Vec3 a, float scale) {
    return {a.x * scale, a.y * scale, a.z * scale};
  }
};

inline float Dot(Vec3 a, Vec3 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

inline Vec3 Cross(Vec3 a, Vec3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

inline float Length(Vec3 v) {
  return std::sqrt(Dot(v, v));
}

// Requires: `v` is not zero.
inline Vec3 Normalized(Vec3 v) {
  return v * (1.0f / Length(v));
}

// The sine of `turns` full circles, to a millionth. The C library's own differs
// from machine to machine in the last bit, which a case must not.
inline float Wave(float turns) {
  float part = turns - std::floor(turns + 0.5f);
  if (std::abs(part) > 0.25f) {
    part = std::copysign(0.5f, part) - part;
  }
  const float x = part * 6.2831853f;
  const float x2 = x * x;
  return x * (1 - x2 / 6 * (1 - x2 / 20 * (1 - x2 / 42 * (1 - x2 / 72))));
}

// Three unit vectors at right angles, right-handed.
struct Axes {
  Vec3 x;
  Vec3 y;
  Vec3 z;
};

// Axes whose z is `direction`, y as far up as that allows.
inline Axes AxesAlong(Vec3 direction) {
  const Vec3 z = Normalized(direction);
  const Vec3 up = std::abs(z.y) < 0.99f ? Vec3{0, 1, 0} : Vec3{0, 0, -1};
  const Vec3 x = Normalized(Cross(up, z));
  return {x, Cross(z, x), z};
}

// The four rows of a matrix that columns are multiplied by.
using Rows = std::array<std::array<float, 4>, 4>;

// A camera at `eye` looking at `target`; depth is reversed (near 1, infinity
// 0), y points down as Vulkan's does. `tangent`: of half the upright angle.
inline Rows WorldToClip(Vec3 eye, Vec3 target, float tangent, float aspect,
                        float near) {
  const Axes axes = AxesAlong(eye - target);
  const auto row = [eye](Vec3 axis, float scale) {
    const Vec3 scaled = axis * scale;
    return std::array<float, 4>{scaled.x, scaled.y, scaled.z,
                                -Dot(scaled, eye)};
  };
  return {row(axes.x, 1.0f / (tangent * aspect)), row(axes.y, -1.0f / tangent),
          std::array<float, 4>{0, 0, 0, near}, row(axes.z, -1.0f)};
}

}  // namespace kiln::lab
