// SPDX-License-Identifier: Apache-2.0

// Stands in for the file that Kiln makes, so that glslc and editors can read the shader without it.
// Kiln never compiles this text: it puts its own in its place.
void kiln_surface(uint kiln_index, inout Surface s) {}
