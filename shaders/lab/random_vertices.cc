// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/random_vertices.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "proto/status_macros.h"
#include "shaders/lab/noise_image.h"

namespace kiln::lab {
namespace {

constexpr uint32_t kVertices = 3 * kRandomTriangles;

// The bits of `number` in a channel; 0 for one too odd to write.
uint64_t ChannelBits(NumberForm form, uint32_t bits, float number) {
  const double most = std::ldexp(1.0, static_cast<int>(bits));
  const double unit = std::clamp(number, 0.0f, 1.0f);
  switch (form) {
    case NumberForm::kUnorm:
    case NumberForm::kSrgb:
      return static_cast<uint64_t>(std::llround(unit * (most - 1)));
    case NumberForm::kSnorm:
      return static_cast<uint64_t>(
          std::llround(std::clamp(number, -1.0f, 1.0f) * (most / 2 - 1)));
    case NumberForm::kUint:
    case NumberForm::kSint:
      return static_cast<uint64_t>(unit * 3.99);
    case NumberForm::kFloat:
      if (bits == 32) {
        return std::bit_cast<uint32_t>(number);
      }
      if (bits == 64) {
        return std::bit_cast<uint64_t>(static_cast<double>(number));
      }
      return bits == 16 ? HalfBits(number) : 0;
    case NumberForm::kOpaque:
      break;
  }
  return 0;
}

void PutBits(std::span<std::byte> bytes, uint32_t offset, uint32_t count,
             uint64_t value) {
  for (uint32_t i = 0; i < std::min(count, 64u); ++i) {
    if ((value >> i & 1) != 0) {
      bytes[(offset + i) / 8] |= std::byte{1} << ((offset + i) % 8);
    }
  }
}

uint32_t Component(char name) {
  switch (name) {
    case 'g':
      return 1;
    case 'b':
      return 2;
    case 'a':
      return 3;
    default:
      return 0;
  }
}

std::array<float, 4> Position(Random& random) {
  // Beyond the edges: most triangles are large and some are clipped.
  return {random.Between(-1.6f, 1.6f), random.Between(-1.6f, 1.6f),
          random.Unit(), 1};
}

}  // namespace

absl::StatusOr<RandomVertices> RandomVertices::Make(
    const PipelineSkeleton& skeleton) {
  RandomVertices made;
  for (const VertexBinding& binding : skeleton.vertex_bindings) {
    made.strides_.push_back(binding.stride_bytes);
  }
  for (const VertexAttribute& attribute : skeleton.vertex_attributes) {
    Attribute parsed;
    parsed.offset_bytes = attribute.offset_bytes;
    parsed.is_position = attribute.location == 0;
    KILN_ASSIGN_OR_RETURN(parsed.format, ParseTexelFormat(attribute.format));
    const auto& bindings = skeleton.vertex_bindings;
    const auto at =
        std::ranges::find(bindings, attribute.binding, &VertexBinding::binding);
    if (at == bindings.end()) {
      return absl::InvalidArgumentError("a vertex attribute has no binding");
    }
    parsed.buffer = static_cast<uint32_t>(at - bindings.begin());
    made.attributes_.push_back(std::move(parsed));
  }
  return made;
}

std::vector<Bytes> RandomVertices::Buffers(Random& random) const {
  std::vector<Bytes> buffers;
  for (const uint32_t stride : strides_) {
    // Room for the attributes of the last vertex, whatever the stride is.
    uint32_t tail = stride;
    for (const Attribute& attribute : attributes_) {
      tail = std::max(tail, attribute.offset_bytes + attribute.format.bytes);
    }
    buffers.emplace_back(size_t{stride} * (kVertices - 1) + tail);
  }
  for (const Attribute& attribute : attributes_) {
    for (uint32_t vertex = 0; vertex < kVertices; ++vertex) {
      std::array<float, 4> value = Position(random);
      if (!attribute.is_position) {
        std::ranges::generate(value, [&] { return random.Unit(); });
      }
      const std::span<std::byte> texel =
          std::span(buffers[attribute.buffer])
              .subspan(size_t{strides_[attribute.buffer]} * vertex +
                           attribute.offset_bytes,
                       attribute.format.bytes);
      std::ranges::fill(texel, std::byte{0});  // a stride may be 0
      for (const TexelChannel& channel : attribute.format.channels) {
        PutBits(texel, channel.offset, channel.bits,
                ChannelBits(attribute.format.form, channel.bits,
                            value[Component(channel.name)]));
      }
    }
  }
  return buffers;
}

std::vector<uint32_t> RandomVertices::Indices() const {
  std::vector<uint32_t> indices(attributes_.empty() ? 3 : kVertices);
  for (uint32_t i = 0; i < indices.size(); ++i) {
    indices[i] = i;
  }
  return indices;
}

}  // namespace kiln::lab
