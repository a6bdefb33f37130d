// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/derivation.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/compiler.h"
#include "shaders/lab/compute.h"

namespace kiln::lab {

struct Derivation::Objects {
  std::vector<Descriptor> buffers;  // of the program
  FeatureMask declared = 0;
  DispatchRequest request;  // without the bytes of a draw; features come last
  std::unique_ptr<ComputeShader> shader;
};

namespace {

constexpr uint32_t kFeaturesSet = 1;
constexpr uint32_t kFeaturesBinding = 0;
constexpr size_t kFeaturesWords = 2;

absl::StatusOr<std::vector<uint32_t>> CompileDerivation(
    const Program& program) {
  Program copy = program;
  copy.stages = {{Stage::kCompute, program.derivation}};
  shaders::StageResult code = shaders::CompileStage(copy, Stage::kCompute);
  if (!code.ok()) {
    return absl::InvalidArgumentError(fmt::format(
        "derivation of program {}: {}", program.name, code.diagnostics));
  }
  return std::move(code.spirv);
}

absl::StatusOr<std::vector<Descriptor>> BuffersOf(const Program& program) {
  std::vector<Descriptor> buffers;
  for (const Descriptor& descriptor : program.pipeline.descriptors) {
    if (descriptor.set == kFeaturesSet &&
        descriptor.binding == kFeaturesBinding) {
      return absl::InvalidArgumentError(fmt::format(
          "program {} has a descriptor at set {} binding {}, where its "
          "derivation's features go",
          program.name, kFeaturesSet, kFeaturesBinding));
    }
    if (descriptor.type == "uniform_buffer" ||
        descriptor.type == "storage_buffer") {
      buffers.push_back(descriptor);
    }
  }
  return buffers;
}

uint32_t WordAt(ByteView bytes, size_t word) {
  uint32_t value = 0;
  for (size_t i = 0; i < sizeof(value); ++i) {
    value |= std::to_integer<uint32_t>(bytes[word * sizeof(value) + i])
             << (8 * i);
  }
  return value;
}

}  // namespace

Derivation::Derivation(std::unique_ptr<Objects> objects)
    : objects_(std::move(objects)) {}

Derivation::~Derivation() = default;

absl::StatusOr<std::unique_ptr<Derivation>> Derivation::Make(
    pipeline::Device& device, const Program& program) {
  if (program.derivation.empty()) {
    return absl::FailedPreconditionError(fmt::format(
        "program {} names no derivation, so nothing says which bits a draw "
        "needs",
        program.name));
  }
  auto objects = std::make_unique<Objects>();
  objects->declared = program.AllFeatures();
  KILN_ASSIGN_OR_RETURN(objects->buffers, BuffersOf(program));
  KILN_ASSIGN_OR_RETURN(const std::vector<uint32_t> spirv,
                        CompileDerivation(program));
  DispatchRequest& request = objects->request;
  for (const Descriptor& buffer : objects->buffers) {
    request.inputs.push_back({buffer.set, buffer.binding, buffer.type, {}, {}});
  }
  request.inputs.push_back({kFeaturesSet,
                            kFeaturesBinding,
                            "storage_buffer",
                            Bytes(kFeaturesWords * sizeof(uint32_t)),
                            {}});
  request.push_constants.resize(program.pipeline.push_constant_bytes);
  request.spirv = spirv;
  KILN_ASSIGN_OR_RETURN(objects->shader, ComputeShader::Make(device, request));
  request.spirv = {};
  return std::unique_ptr<Derivation>(new Derivation(std::move(objects)));
}

absl::StatusOr<FeatureMask> Derivation::Derive(const DrawInputs& inputs,
                                               size_t draw) {
  DispatchRequest request = objects_->request;
  for (size_t i = 0; i < objects_->buffers.size(); ++i) {
    ComputeInput& input = request.inputs[i];
    const auto bound =
        std::ranges::find_if(inputs.bound, [&](const BoundInput& b) {
          return b.set == input.set && b.binding == input.binding;
        });
    if (bound == inputs.bound.end()) {
      return absl::InvalidArgumentError(
          fmt::format("set {} binding {}: the case has nothing for it",
                      input.set, input.binding));
    }
    input.bytes = bound->buffer;
  }
  request.push_constants = inputs.draws[draw].push_constants;
  KILN_ASSIGN_OR_RETURN(const DispatchResult result,
                        objects_->shader->Run(request));
  const ByteView words = result.buffers.back();
  const FeatureMask mask =
      WordAt(words, 0) | static_cast<FeatureMask>(WordAt(words, 1)) << 32;
  if (const FeatureMask unknown = mask & ~objects_->declared; unknown != 0) {
    return absl::DataLossError(fmt::format(
        "the derivation set bits that the program does not declare: {:#x}",
        unknown));
  }
  return mask;
}

}  // namespace kiln::lab
