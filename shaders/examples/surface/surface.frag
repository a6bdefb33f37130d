// SPDX-License-Identifier: Apache-2.0
#version 460

// A ball under one light, whose look is up to user code: each surface shader of the program defines
// `void surface(inout Surface s)`, and push constants say which of them a draw uses.

layout(location = 0) in vec2 at;
layout(location = 0) out vec4 color;

layout(push_constant) uniform Draw {
  vec4 tint;
  vec4 sun;        // xyz: direction to it; w: intensity
  uint surface;    // 0: the base, else an index that Kiln gave
  float seconds;
} draw;

// What user code may use has to be declared before it is included. A surface may read all of it, and
// whatever GLSL computes; it may write to its parameter, end no pixel, and write no output.
struct Surface {
  vec3 position;   // on the unit ball, in
  vec3 normal;     // in and out
  vec3 albedo;     // in and out, linear
  float roughness; // in and out, 0 to 1
  vec3 emission;   // out
};

// The base comes first: a surface starts from it.
Surface BaseSurface(vec3 position) {
  return Surface(position, position, draw.tint.rgb, 0.5, vec3(0.0));
}

// Made by Kiln: all surface shaders of the program, and
//   void kiln_surface(uint kiln_index, inout Surface s)
// which calls the one of that index. For 0 it does nothing.
#include "surfaces.glsl"

vec3 Lit(Surface s, vec3 to_eye) {
  const vec3 to_sun = normalize(draw.sun.xyz);
  const float diffuse = max(dot(s.normal, to_sun), 0.0);
  const float shininess = mix(128.0, 4.0, s.roughness);
  const vec3 halfway = normalize(to_sun + to_eye);
  const float specular = pow(max(dot(s.normal, halfway), 0.0), shininess) * (1.0 - s.roughness);
  return s.albedo * (0.1 + diffuse * draw.sun.w) + specular * draw.sun.w + s.emission;
}

void main() {
  const float inside = 1.0 - dot(at, at);
  if (inside < 0.0) {
    discard;
  }
  Surface s = BaseSurface(vec3(at, sqrt(inside)));
  kiln_surface(draw.surface, s);
  s.normal = normalize(s.normal);
  color = vec4(Lit(s, vec3(0.0, 0.0, 1.0)), draw.tint.a);
}
