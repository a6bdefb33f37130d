// SPDX-License-Identifier: Apache-2.0
#version 460

// A box blur: each invocation averages the (2 * RADIUS + 1)^2 texels around its own. The smallest
// program whose speed depends on the workgroup's shape: what neighbours read is near, so a group
// that is a block of the image finds more of it in the cache than one that is a line.

// The two sizes are specialization constants 0 and 1; the numbers are their defaults.
layout(local_size_x = 8, local_size_y = 8, local_size_x_id = 0, local_size_y_id = 1) in;

layout(constant_id = 2) const uint RADIUS = 2u;

layout(set = 0, binding = 0) uniform sampler2D source;
layout(set = 0, binding = 1, std430) writeonly buffer Blurred { uint blurred[]; };

void main() {
  const ivec2 size = textureSize(source, 0);
  const ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  // Groups cover the image and may stick out of it.
  if (any(greaterThanEqual(at, size))) {
    return;
  }
  const int radius = int(RADIUS);
  vec4 sum = vec4(0.0);
  for (int y = -radius; y <= radius; ++y) {
    for (int x = -radius; x <= radius; ++x) {
      sum += texelFetch(source, clamp(at + ivec2(x, y), ivec2(0), size - 1), 0);
    }
  }
  const float texels = float((2 * radius + 1) * (2 * radius + 1));
  blurred[at.y * size.x + at.x] = packUnorm4x8(sum / texels);
}
