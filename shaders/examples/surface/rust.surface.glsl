// SPDX-License-Identifier: Apache-2.0

// Rust in patches: rough and brown where the noise is high. No #version, no layout, no main: a
// surface shader is one function and its helpers. Names are its own; moss.surface.glsl has a `noise`
// too.

const vec3 kRust = vec3(0.36, 0.14, 0.05);

float hash(vec3 p) {
  return fract(sin(dot(p, vec3(12.9898, 78.233, 37.719))) * 43758.5453);
}

float noise(vec3 p) {
  const vec3 cell = floor(p);
  const vec3 t = smoothstep(0.0, 1.0, fract(p));
  const vec4 low = vec4(hash(cell), hash(cell + vec3(1, 0, 0)), hash(cell + vec3(0, 1, 0)),
                        hash(cell + vec3(1, 1, 0)));
  const vec4 high = vec4(hash(cell + vec3(0, 0, 1)), hash(cell + vec3(1, 0, 1)),
                         hash(cell + vec3(0, 1, 1)), hash(cell + vec3(1, 1, 1)));
  const vec4 between = mix(low, high, t.z);
  return mix(mix(between.x, between.y, t.x), mix(between.z, between.w, t.x), t.y);
}

void surface(inout Surface s) {
  const float patches = noise(s.position * 4.0) * 0.7 + noise(s.position * 16.0) * 0.3;
  const float rusted = smoothstep(0.45, 0.6, patches);
  s.albedo = mix(s.albedo, kRust, rusted);
  s.roughness = mix(0.2, 0.95, rusted);
}
