// SPDX-License-Identifier: Apache-2.0
#version 460

// One triangle that covers the screen, without a vertex buffer. The fragment shader makes a ball of it.
layout(location = 0) out vec2 at;

void main() {
  at = vec2(float((gl_VertexIndex << 1) & 2), float(gl_VertexIndex & 2)) * 2.0 - 1.0;
  gl_Position = vec4(at, 0.0, 1.0);
}
