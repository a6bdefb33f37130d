// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vertices for a program that nothing is known of but its attributes.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/bytes.h"
#include "proto/program.h"
#include "shaders/lab/random.h"
#include "shaders/lab/texel_format.h"

namespace kiln::lab {

inline constexpr uint32_t kRandomTriangles = 24;

// Thread-compatible.
class RandomVertices {
 public:
  // Errors: InvalidArgument for an attribute format that is none.
  static absl::StatusOr<RandomVertices> Make(const PipelineSkeleton& skeleton);

  // A buffer for each vertex binding, in order. Location 0 is taken for the
  // position: corners of large triangles over the whole of clip space. Any
  // other attribute is random: numbers in 0 to 1, integers below four.
  std::vector<Bytes> Buffers(Random& random) const;

  // Triangles over the buffers; a program without attributes makes its
  // vertices of their index and gets the one triangle 0, 1, 2.
  std::vector<uint32_t> Indices() const;

 private:
  struct Attribute {
    uint32_t buffer = 0;  // position in the skeleton's bindings
    uint32_t offset_bytes = 0;
    bool is_position = false;
    TexelFormat format;
  };

  std::vector<uint32_t> strides_;
  std::vector<Attribute> attributes_;
};

}  // namespace kiln::lab
