// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/generic_cases.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/lab/noise_image.h"
#include "shaders/lab/scene_cases.h"

namespace kiln::lab {
namespace {

constexpr uint32_t kDraws = 2;
// Of a buffer that the program declares and no module reads.
constexpr uint32_t kUnreadBytes = 256;

bool IsBuffer(std::string_view type) {
  return type.starts_with("uniform_buffer") ||
         type.starts_with("storage_buffer");
}

bool IsImage(std::string_view type) {
  return type == "combined_image_sampler" || type == "sampled_image" ||
         type == "storage_image" || type == "sampler";
}

float RandomFloat(FieldUse use, Random& random) {
  switch (use) {
    case FieldUse::kDiagonal:
      return random.Between(0.9f, 1.1f);
    case FieldUse::kOffDiagonal:
      return random.Between(-0.1f, 0.1f);
    case FieldUse::kLastRow:
      return 0;
    case FieldUse::kCorner:
      return 1;
    case FieldUse::kFloat:
    case FieldUse::kInteger:
      break;
  }
  return random.Unit();
}

// Six random bits at most: flags are mostly low bits, and a count or an index
// stays within the elements of an array without a size.
uint32_t RandomInteger(Random& random) {
  const uint32_t choice = random.Below(5);
  return choice < 4 ? choice : random.Below(kRuntimeElements);
}

uint64_t RandomBits(const BlockField& field, Random& random) {
  if (field.use == FieldUse::kInteger) {
    return RandomInteger(random);
  }
  const float number = RandomFloat(field.use, random);
  switch (field.bytes) {
    case 2:
      return HalfBits(number);
    case 8:
      return std::bit_cast<uint64_t>(static_cast<double>(number));
    default:
      return std::bit_cast<uint32_t>(number);
  }
}

Bytes FillBlock(const ReflectedBlock& block, Random& random) {
  Bytes bytes(block.bytes);
  for (const BlockField& field : block.fields) {
    const uint64_t bits = RandomBits(field, random);
    for (uint32_t i = 0; i < field.bytes; ++i) {
      if (field.offset + i < bytes.size()) {
        bytes[field.offset + i] = static_cast<std::byte>(bits >> (8 * i));
      }
    }
  }
  return bytes;
}

// Repeats the elements at the end of a filled block until there are enough.
void Lengthen(const ReflectedBlock& block, uint32_t elements, Bytes& bytes) {
  const size_t period = size_t{block.element_bytes} * kRuntimeElements;
  const size_t start = bytes.size();
  if (period == 0 || elements <= kRuntimeElements) {
    return;
  }
  bytes.resize(start - period + size_t{block.element_bytes} * elements);
  for (size_t i = start; i < bytes.size(); ++i) {
    bytes[i] = bytes[i - period];
  }
}

NoiseSpec SpecOf(const ReflectedImage& image, const GenericSizes& sizes) {
  NoiseSpec spec;
  spec.shape = image.shape;
  spec.compare = image.compare;
  if (image.compare) {
    spec.format = "d32_sfloat";
    spec.mips = false;
  } else if (!image.format.empty()) {
    spec.format = image.format;
    spec.mips = false;
  }
  if (image.shape == ImageShape::k2DArray) {
    spec.layers = 8;
  } else if (image.shape == ImageShape::k3D) {
    spec.width = spec.height = spec.layers = 16;
  }
  if (sizes.image[0] != 0) {
    spec.width = sizes.image[0];
    spec.height = sizes.image[1];
    spec.layers = image.shape == ImageShape::k3D ? sizes.image[2] : spec.layers;
    spec.mips = false;
  }
  return spec;
}

template <typename T>
const T* At(const std::vector<T>& list, const Descriptor& descriptor) {
  const auto found = std::ranges::find_if(list, [&](const T& entry) {
    return entry.set == descriptor.set && entry.binding == descriptor.binding;
  });
  return found == list.end() ? nullptr : &*found;
}

// Has `program` the bindings that SceneCases fills?
bool IsScene(const Program& program) {
  return program.name == "scene" &&
         program.pipeline.push_constant_bytes == 96 &&
         program.pipeline.descriptors.size() == 26 &&
         program.pipeline.vertex_bindings.size() == 1 &&
         program.pipeline.vertex_bindings[0].stride_bytes == kSceneVertexBytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GenericCases>> GenericCases::Make(
    const Program& program, std::span<const pipeline::StageCode> code,
    const GenericSizes& sizes) {
  InputReflection reflection;
  for (const pipeline::StageCode& stage : code) {
    KILN_RETURN_IF_ERROR(ReflectInputs(stage.spirv, reflection));
  }
  for (const Descriptor& descriptor : program.pipeline.descriptors) {
    if (!IsBuffer(descriptor.type) && !IsImage(descriptor.type)) {
      return absl::UnimplementedError(
          fmt::format("no case can be made of the {} at set {} binding {}",
                      descriptor.type, descriptor.set, descriptor.binding));
    }
  }
  KILN_ASSIGN_OR_RETURN(RandomVertices vertices,
                        RandomVertices::Make(program.pipeline));
  return std::unique_ptr<GenericCases>(new GenericCases(
      program, std::move(reflection), std::move(vertices), sizes));
}

GenericCases::GenericCases(const Program& program, InputReflection reflection,
                           RandomVertices vertices, const GenericSizes& sizes)
    : skeleton_(program.pipeline),
      reflection_(std::move(reflection)),
      vertices_(std::move(vertices)),
      sizes_(sizes) {}

BoundInput GenericCases::Fill(const Descriptor& descriptor,
                              Random& random) const {
  BoundInput input{descriptor.set, descriptor.binding, {}, {}};
  if (IsBuffer(descriptor.type)) {
    const ReflectedBlock* block = At(reflection_.blocks, descriptor);
    if (block == nullptr) {
      input.buffer.resize(kUnreadBytes);
      return input;
    }
    input.buffer = FillBlock(*block, random);
    Lengthen(*block, sizes_.elements, input.buffer);
    return input;
  }
  const ReflectedImage* image = At(reflection_.images, descriptor);
  const NoiseSpec spec =
      image == nullptr ? NoiseSpec() : SpecOf(*image, sizes_);
  for (uint32_t i = 0; i < descriptor.count; ++i) {
    input.images.push_back(NoiseImage(spec, random));
  }
  return input;
}

DrawInputs GenericCases::Make(uint64_t seed, const CaseKey& key) {
  Random random(seed);
  DrawInputs inputs;
  inputs.width = key.width;
  inputs.height = key.height;
  inputs.vertex_buffers = vertices_.Buffers(random);
  inputs.indices = vertices_.Indices();
  for (const Descriptor& descriptor : skeleton_.descriptors) {
    inputs.bound.push_back(Fill(descriptor, random));
  }
  for (uint32_t i = 0; i < kDraws; ++i) {
    DrawCall draw;
    if (reflection_.push_constants.has_value()) {
      draw.push_constants = FillBlock(*reflection_.push_constants, random);
    }
    draw.push_constants.resize(skeleton_.push_constant_bytes);
    draw.index_count = static_cast<uint32_t>(inputs.indices.size());
    inputs.draws.push_back(std::move(draw));
  }
  return inputs;
}

absl::StatusOr<std::unique_ptr<CaseSource>> MakeCaseSource(
    const Program& program, std::span<const pipeline::StageCode> code) {
  if (IsScene(program)) {
    return std::make_unique<SceneCases>();
  }
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<GenericCases> cases,
                        GenericCases::Make(program, code));
  return cases;
}

}  // namespace kiln::lab
