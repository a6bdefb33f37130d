// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/renderer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/lab/commands.h"
#include "shaders/lab/descriptor_sets.h"
#include "shaders/lab/render_target.h"
#include "shaders/lab/sample_reader.h"
#include "shaders/lab/upload_batch.h"
#include "shaders/pipeline/pipeline_layout.h"

namespace kiln::lab {
namespace {

// One case on the device. Destroyed in reverse: the sets before what they name.
struct LoadedInputs {
  DrawInputs inputs;  // as given, without the content of its resources
  BoundResources resources;
  std::vector<DeviceBuffer> vertices;
  DeviceBuffer indices;
  bool indexed = false;
  DescriptorSets sets;
};

absl::Status CheckVertices(const PipelineSkeleton& skeleton,
                           const DrawInputs& inputs) {
  const auto& bindings = skeleton.vertex_bindings;
  if (inputs.vertex_buffers.size() != bindings.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} vertex buffers for {} vertex bindings",
                    inputs.vertex_buffers.size(), bindings.size()));
  }
  const uint64_t vertices =
      inputs.indices.empty()
          ? 0
          : uint64_t{*std::ranges::max_element(inputs.indices)} + 1;
  for (size_t i = 0; i < bindings.size(); ++i) {
    const uint64_t needed = bindings[i].per_instance ? 1 : vertices;
    if (inputs.vertex_buffers[i].size() < needed * bindings[i].stride_bytes) {
      return absl::InvalidArgumentError(
          fmt::format("vertex buffer {} has {} bytes; the indices need {} "
                      "vertices of {}",
                      i, inputs.vertex_buffers[i].size(), needed,
                      bindings[i].stride_bytes));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDraws(const PipelineSkeleton& skeleton,
                        const DrawInputs& inputs) {
  for (const DrawCall& draw : inputs.draws) {
    if (draw.push_constants.size() != skeleton.push_constant_bytes) {
      return absl::InvalidArgumentError(fmt::format(
          "a draw has {} bytes of push constants; the program has {}",
          draw.push_constants.size(), skeleton.push_constant_bytes));
    }
    const uint64_t end = uint64_t{draw.first_index} + draw.index_count;
    if (!inputs.indices.empty() && end > inputs.indices.size()) {
      return absl::InvalidArgumentError(fmt::format(
          "a draw ends at index {} of {}", end, inputs.indices.size()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

struct Renderer::Objects {
  const DeviceHandles* device = nullptr;
  PipelineSkeleton skeleton;
  pipeline::PipelineLayout layout;  // compatible with every pipeline's
  std::optional<CommandRunner> runner;
  std::optional<SampleReader> reader;
  std::optional<RenderTarget> target;
  std::optional<LoadedInputs> loaded;

  TargetSize Size() const {
    return {loaded->inputs.width, loaded->inputs.height, skeleton.samples};
  }

  absl::Status RequireInputs() const {
    return loaded ? absl::OkStatus()
                  : absl::FailedPreconditionError("no inputs are loaded");
  }

  absl::StatusOr<std::vector<VkPipeline>> HandlesOf(
      std::span<const pipeline::Pipeline* const> pipelines) const;

  // Records one pass; `pipelines` empty: without draws.
  void Record(VkCommandBuffer commands, const RenderTarget& to,
              std::span<const VkPipeline> pipelines) const;
  void RecordDraw(VkCommandBuffer commands, const DrawCall& draw) const;
  absl::StatusOr<Picture> DrawPicture(std::span<const VkPipeline> pipelines);
};

absl::StatusOr<std::vector<VkPipeline>> Renderer::Objects::HandlesOf(
    std::span<const pipeline::Pipeline* const> pipelines) const {
  if (pipelines.size() != loaded->inputs.draws.size()) {
    return absl::InvalidArgumentError(fmt::format("{} pipelines for {} draws",
                                                  pipelines.size(),
                                                  loaded->inputs.draws.size()));
  }
  std::vector<VkPipeline> handles;
  for (const pipeline::Pipeline* pipeline : pipelines) {
    handles.push_back(static_cast<VkPipeline>(pipeline->vk_pipeline()));
  }
  return handles;
}

void Renderer::Objects::RecordDraw(VkCommandBuffer commands,
                                   const DrawCall& draw) const {
  if (skeleton.push_constant_bytes != 0) {
    vkCmdPushConstants(commands, layout.layout.get(),
                       pipeline::StageBits(skeleton.push_constant_stages), 0,
                       skeleton.push_constant_bytes,
                       draw.push_constants.data());
  }
  if (loaded->indexed) {
    vkCmdDrawIndexed(commands, draw.index_count, 1, draw.first_index, 0, 0);
  } else {
    vkCmdDraw(commands, draw.index_count, 1, draw.first_index, 0);
  }
}

void Renderer::Objects::Record(VkCommandBuffer commands, const RenderTarget& to,
                               std::span<const VkPipeline> pipelines) const {
  to.Begin(commands, loaded->inputs);
  loaded->sets.Bind(commands, VK_PIPELINE_BIND_POINT_GRAPHICS);
  for (size_t i = 0; i < loaded->vertices.size(); ++i) {
    const VkBuffer buffer = loaded->vertices[i].buffer.get();
    const VkDeviceSize offset = 0;
    vkCmdBindVertexBuffers(commands, skeleton.vertex_bindings[i].binding, 1,
                           &buffer, &offset);
  }
  if (loaded->indexed) {
    vkCmdBindIndexBuffer(commands, loaded->indices.buffer.get(), 0,
                         VK_INDEX_TYPE_UINT32);
  }
  VkPipeline bound = VK_NULL_HANDLE;
  for (size_t i = 0; i < pipelines.size(); ++i) {
    if (pipelines[i] != bound) {
      bound = pipelines[i];
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, bound);
    }
    RecordDraw(commands, loaded->inputs.draws[i]);
  }
  to.End(commands);
}

absl::StatusOr<Picture> Renderer::Objects::DrawPicture(
    std::span<const VkPipeline> pipelines) {
  if (!target || target->size() != Size()) {
    KILN_ASSIGN_OR_RETURN(target,
                          RenderTarget::Make(*device, skeleton, Size(), true));
  }
  KILN_RETURN_IF_ERROR(runner->Run(
      [&](VkCommandBuffer commands) { Record(commands, *target, pipelines); }));
  Picture picture{Size().width, Size().height, Size().samples, {}, false};
  for (const ReadableLayer& layer : target->layers()) {
    KILN_ASSIGN_OR_RETURN(Bytes texels, reader->Read(*runner, Size(), layer));
    picture.layers.push_back(
        {layer.format, layer.texel_bytes, std::move(texels)});
    picture.has_depth |= layer.is_depth;
  }
  return picture;
}

Renderer::Renderer(std::unique_ptr<Objects> objects)
    : objects_(std::move(objects)) {}

Renderer::~Renderer() = default;

absl::StatusOr<std::unique_ptr<Renderer>> Renderer::Make(
    pipeline::Device& device, const Program& program) {
  auto objects = std::make_unique<Objects>();
  objects->device = &device.handles();
  objects->skeleton = program.pipeline;
  KILN_ASSIGN_OR_RETURN(objects->runner, CommandRunner::Make(device.handles()));
  KILN_ASSIGN_OR_RETURN(objects->reader, SampleReader::Make(device.handles()));
  KILN_ASSIGN_OR_RETURN(
      objects->layout,
      pipeline::MakeLayout(device.handles(), program.pipeline));
  return std::unique_ptr<Renderer>(new Renderer(std::move(objects)));
}

absl::Status Renderer::Load(const DrawInputs& inputs) {
  const DeviceHandles& device = *objects_->device;
  const PipelineSkeleton& skeleton = objects_->skeleton;
  KILN_RETURN_IF_ERROR(CheckVertices(skeleton, inputs));
  KILN_RETURN_IF_ERROR(CheckDraws(skeleton, inputs));
  objects_->loaded.reset();
  LoadedInputs loaded;
  loaded.inputs.width = inputs.width;
  loaded.inputs.height = inputs.height;
  std::ranges::copy(inputs.clear_color, loaded.inputs.clear_color);
  loaded.inputs.clear_depth = inputs.clear_depth;
  loaded.inputs.draws = inputs.draws;
  loaded.indexed = !inputs.indices.empty();
  KILN_ASSIGN_OR_RETURN(
      loaded.sets,
      DescriptorSets::Make(device, objects_->layout, skeleton.descriptors));
  UploadBatch batch(device);
  KILN_ASSIGN_OR_RETURN(
      loaded.resources,
      BoundResources::Make(device, batch, loaded.sets, skeleton.descriptors,
                           inputs.bound));
  for (const Bytes& vertices : inputs.vertex_buffers) {
    KILN_ASSIGN_OR_RETURN(
        DeviceBuffer buffer,
        batch.AddBuffer(vertices, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT));
    loaded.vertices.push_back(std::move(buffer));
  }
  KILN_ASSIGN_OR_RETURN(loaded.indices,
                        batch.AddBuffer(AsBytes(std::span(inputs.indices)),
                                        VK_BUFFER_USAGE_INDEX_BUFFER_BIT));
  KILN_RETURN_IF_ERROR(batch.Run(*objects_->runner));
  objects_->loaded = std::move(loaded);
  return absl::OkStatus();
}

absl::StatusOr<Picture> Renderer::Draw(const pipeline::Pipeline& pipeline) {
  KILN_RETURN_IF_ERROR(objects_->RequireInputs());
  const std::vector<const pipeline::Pipeline*> pipelines(
      objects_->loaded->inputs.draws.size(), &pipeline);
  return Draw(pipelines);
}

absl::StatusOr<Picture> Renderer::Draw(
    std::span<const pipeline::Pipeline* const> pipelines) {
  KILN_RETURN_IF_ERROR(objects_->RequireInputs());
  KILN_ASSIGN_OR_RETURN(const std::vector<VkPipeline> handles,
                        objects_->HandlesOf(pipelines));
  return objects_->DrawPicture(handles);
}

absl::StatusOr<Picture> Renderer::DrawNothing() {
  KILN_RETURN_IF_ERROR(objects_->RequireInputs());
  return objects_->DrawPicture({});
}

absl::StatusOr<std::vector<double>> Renderer::TimeDraws(
    const pipeline::Pipeline& pipeline, const TimingOptions& options) {
  KILN_RETURN_IF_ERROR(objects_->RequireInputs());
  const std::vector<const pipeline::Pipeline*> pipelines(
      objects_->loaded->inputs.draws.size(), &pipeline);
  return TimeDraws(pipelines, options);
}

absl::StatusOr<std::vector<double>> Renderer::TimeDraws(
    std::span<const pipeline::Pipeline* const> pipelines,
    const TimingOptions& options) {
  KILN_RETURN_IF_ERROR(objects_->RequireInputs());
  KILN_ASSIGN_OR_RETURN(const std::vector<VkPipeline> handles,
                        objects_->HandlesOf(pipelines));
  if (options.frames == 0) {
    return absl::InvalidArgumentError("no frames to time");
  }
  KILN_ASSIGN_OR_RETURN(
      const RenderTarget target,
      RenderTarget::Make(*objects_->device, objects_->skeleton,
                         objects_->Size(), false));
  KILN_ASSIGN_OR_RETURN(const Stopwatch watch,
                        Stopwatch::Make(*objects_->device, options.frames));
  KILN_RETURN_IF_ERROR(objects_->runner->Run([&](VkCommandBuffer commands) {
    watch.Reset(commands);
    for (uint32_t i = 0; i < options.warm_up; ++i) {
      objects_->Record(commands, target, handles);
    }
    for (uint32_t i = 0; i < options.frames; ++i) {
      watch.Start(commands, i);
      objects_->Record(commands, target, handles);
      watch.Stop(commands, i);
    }
  }));
  return watch.Microseconds();
}

}  // namespace kiln::lab
