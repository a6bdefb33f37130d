// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything one draw reads, as plain data: what a case source (scene_cases.h,
// generic_cases.h) makes and the renderer (renderer.h) uploads. No Vulkan.

#include <cstdint>
#include <string>
#include <vector>

#include "proto/bytes.h"

namespace kiln::lab {

enum class ImageShape : uint8_t { k2D, k2DArray, k3D };

// One sampled image with its sampler. Filtering is linear, mip levels too.
struct ImageInput {
  ImageShape shape = ImageShape::k2D;
  std::string format = "r8g8b8a8_unorm";  // a VkFormat, as in programs
  uint32_t width = 1;
  uint32_t height = 1;
  uint32_t layers = 1;  // array layers, or the depth of a k3D image
  uint32_t mips = 1;
  bool repeat = true;    // else clamp to edge
  bool compare = false;  // a shadow sampler: less or equal
  Bytes texels;          // mip 0 first; within a mip, layer by layer
};

// What is bound at (set, binding): a buffer's bytes, or as many images as the
// program's descriptor counts. The descriptor type is the program's.
struct BoundInput {
  uint32_t set = 0;
  uint32_t binding = 0;
  Bytes buffer;
  std::vector<ImageInput> images;
};

// One draw of the mesh in `DrawInputs`. Without indices, `first_index` and
// `index_count` count vertices.
struct DrawCall {
  Bytes push_constants;
  uint32_t first_index = 0;
  uint32_t index_count = 0;
};

// Thread-compatible value.
struct DrawInputs {
  uint32_t width = 96;  // pixels of the attachments
  uint32_t height = 64;
  float clear_color[4] = {0.1f, 0.2f, 0.3f, 1.0f};
  float clear_depth = 0.0f;
  std::vector<BoundInput> bound;
  std::vector<Bytes> vertex_buffers;  // by position in vertex_bindings
  std::vector<uint32_t> indices;      // may be empty
  std::vector<DrawCall> draws;
};

}  // namespace kiln::lab
