// SPDX-License-Identifier: Apache-2.0

// Moss where the surface faces up, breathing a little light at night.

#define MOSS_GREEN vec3(0.08, 0.22, 0.04)

struct Moss {
  float amount;
  float glow;
};

float noise(vec3 p) {
  return 0.5 + 0.5 * sin(p.x * 7.0) * sin(p.y * 9.0) * sin(p.z * 8.0);
}

Moss GrowMoss(vec3 position, vec3 normal) {
  const float up = smoothstep(0.1, 0.6, -normal.y + 0.3 * noise(position * 3.0));
  return Moss(up, 0.05 * up * (1.0 + sin(draw.seconds)));
}

void surface(inout Surface s) {
  const Moss moss = GrowMoss(s.position, s.normal);
  s.albedo = mix(s.albedo, MOSS_GREEN, moss.amount);
  s.roughness = mix(s.roughness, 1.0, moss.amount);
  s.normal += 0.2 * moss.amount * (noise(s.position.yzx * 5.0) - 0.5);
  s.emission += MOSS_GREEN * moss.glow;
}
