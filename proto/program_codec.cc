// SPDX-License-Identifier: Apache-2.0

// Program <-> canonical bytes. The grammar is in storage/FORMAT.md.

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/program.h"
#include "proto/status_macros.h"

namespace kiln {
namespace {

// "KPR" and the format version. A change of layout takes a new version: old
// programs keep their id, since an id names these bytes.
constexpr uint32_t kProgramMagic = 0x0452504B;

void WriteConstants(CanonicalWriter& out,
                    const std::vector<Constant>& constants) {
  out.Sequence(constants,
               [&](const Constant& constant) { WriteConstant(out, constant); });
}

std::vector<Constant> ReadConstants(CanonicalReader& in) {
  std::vector<Constant> constants;
  in.Sequence(limits::kSmallList,
              [&] { constants.push_back(ReadConstant(in)); });
  return constants;
}

void WriteAxisValue(CanonicalWriter& out, const AxisValue& value) {
  out.Text(value.name);
  WriteConstants(out, value.constants);
  out.Sequence(value.state, [&](const StateSetting& setting) {
    out.Text(setting.name);
    out.Text(setting.value);
  });
}

AxisValue ReadAxisValue(CanonicalReader& in) {
  AxisValue value;
  value.name = in.Text();
  value.constants = ReadConstants(in);
  in.Sequence(limits::kSmallList, [&] {
    std::string name = in.Text();
    value.state.push_back({std::move(name), in.Text()});
  });
  return value;
}

void WriteStages(CanonicalWriter& out, const std::vector<Stage>& stages) {
  out.Sequence(stages,
               [&](Stage stage) { out.U8(static_cast<uint8_t>(stage)); });
}

std::vector<Stage> ReadStages(CanonicalReader& in) {
  std::vector<Stage> stages;
  in.Sequence(limits::kSmallList,
              [&] { stages.push_back(static_cast<Stage>(in.U8())); });
  return stages;
}

void WriteSkeleton(CanonicalWriter& out, const PipelineSkeleton& skeleton) {
  out.Text(skeleton.topology);
  out.Sequence(skeleton.color_formats,
               [&](const std::string& format) { out.Text(format); });
  out.Text(skeleton.depth_format);
  out.U32(skeleton.samples);
  out.Sequence(skeleton.vertex_bindings, [&](const VertexBinding& binding) {
    out.U32(binding.binding);
    out.U32(binding.stride_bytes);
    out.U8(binding.per_instance ? 1 : 0);
  });
  out.Sequence(skeleton.vertex_attributes,
               [&](const VertexAttribute& attribute) {
                 out.U32(attribute.location);
                 out.U32(attribute.binding);
                 out.Text(attribute.format);
                 out.U32(attribute.offset_bytes);
               });
  out.Sequence(skeleton.descriptors, [&](const Descriptor& descriptor) {
    out.U32(descriptor.set);
    out.U32(descriptor.binding);
    out.Text(descriptor.type);
    out.U32(descriptor.count);
    WriteStages(out, descriptor.stages);
  });
  out.U32(skeleton.push_constant_bytes);
  WriteStages(out, skeleton.push_constant_stages);
}

PipelineSkeleton ReadSkeleton(CanonicalReader& in) {
  PipelineSkeleton skeleton;
  skeleton.topology = in.Text();
  in.Sequence(limits::kSmallList,
              [&] { skeleton.color_formats.push_back(in.Text()); });
  skeleton.depth_format = in.Text();
  skeleton.samples = in.U32();
  in.Sequence(limits::kSmallList, [&] {
    VertexBinding& binding = skeleton.vertex_bindings.emplace_back();
    binding.binding = in.U32();
    binding.stride_bytes = in.U32();
    binding.per_instance = in.U8() != 0;
  });
  in.Sequence(limits::kSmallList, [&] {
    VertexAttribute& attribute = skeleton.vertex_attributes.emplace_back();
    attribute.location = in.U32();
    attribute.binding = in.U32();
    attribute.format = in.Text();
    attribute.offset_bytes = in.U32();
  });
  in.Sequence(limits::kSmallList, [&] {
    Descriptor& descriptor = skeleton.descriptors.emplace_back();
    descriptor.set = in.U32();
    descriptor.binding = in.U32();
    descriptor.type = in.Text();
    descriptor.count = in.U32();
    descriptor.stages = ReadStages(in);
  });
  skeleton.push_constant_bytes = in.U32();
  skeleton.push_constant_stages = ReadStages(in);
  return skeleton;
}

template <typename T>
void WriteOptional(CanonicalWriter& out, const std::optional<T>& value) {
  out.U8(value.has_value() ? 1 : 0);
  out.U64(value.value_or(0));
}

template <typename T>
std::optional<T> ReadOptional(CanonicalReader& in) {
  const bool present = in.U8() != 0;
  const uint64_t value = in.U64();
  return present ? std::optional(static_cast<T>(value)) : std::nullopt;
}

void WriteOverride(CanonicalWriter& out, const Override& entry) {
  out.Text(entry.name);
  WriteOptional(out, entry.constant_id);
  out.U8(static_cast<uint8_t>(entry.type));
  out.U64(entry.default_value);
  WriteOptional(out, entry.min);
  WriteOptional(out, entry.max);
  out.Sequence(entry.steps, [&](uint64_t step) { out.U64(step); });
}

Override ReadOverride(CanonicalReader& in) {
  Override entry;
  entry.name = in.Text();
  entry.constant_id = ReadOptional<uint32_t>(in);
  entry.type = static_cast<ConstantType>(in.U8());
  entry.default_value = in.U64();
  entry.min = ReadOptional<uint64_t>(in);
  entry.max = ReadOptional<uint64_t>(in);
  in.Sequence(limits::kOverrideSteps, [&] { entry.steps.push_back(in.U64()); });
  return entry;
}

void WriteSchema(CanonicalWriter& out, const Program& program) {
  out.Sequence(program.features_constant_ids,
               [&](uint32_t id) { out.U32(id); });
  out.Sequence(program.features, [&](const FeatureBit& feature) {
    out.U32(feature.bit);
    out.Text(feature.name);
    out.U8(static_cast<uint8_t>(feature.owner));
  });
  out.Sequence(program.merged, [&](FeatureMask group) { out.U64(group); });
  out.Sequence(program.kinds, [&](const Kind& kind) {
    WriteAxisValue(out, kind.value);
    out.U8(kind.uses_backdrop ? 1 : 0);
    out.U8(kind.uses_blend ? 1 : 0);
    out.U64(kind.ignored_features);
  });
  auto write_value = [&](const AxisValue& value) {
    WriteAxisValue(out, value);
  };
  out.Sequence(program.backdrops, write_value);
  out.Sequence(program.blends, write_value);
  out.Sequence(program.overrides,
               [&](const Override& entry) { WriteOverride(out, entry); });
  out.Sequence(program.workgroup_size,
               [&](const std::string& name) { out.Text(name); });
  out.U8(program.no_contraction ? 1 : 0);
  out.U8(static_cast<uint8_t>(program.specialization));
  out.Text(program.derivation);
  out.Text(program.surface.include);
  out.Text(program.surface.function);
  out.Text(program.surface.parameters);
}

void ReadSchema(CanonicalReader& in, Program& program) {
  in.Sequence(limits::kFeatureBits / 32,
              [&] { program.features_constant_ids.push_back(in.U32()); });
  in.Sequence(limits::kFeatureBits, [&] {
    FeatureBit& feature = program.features.emplace_back();
    feature.bit = in.U32();
    feature.name = in.Text();
    feature.owner = static_cast<FeatureOwner>(in.U8());
  });
  in.Sequence(limits::kFeatureBits / 2,
              [&] { program.merged.push_back(in.U64()); });
  in.Sequence(limits::kSmallList, [&] {
    Kind& kind = program.kinds.emplace_back();
    kind.value = ReadAxisValue(in);
    kind.uses_backdrop = in.U8() != 0;
    kind.uses_blend = in.U8() != 0;
    kind.ignored_features = in.U64();
  });
  in.Sequence(limits::kSmallList,
              [&] { program.backdrops.push_back(ReadAxisValue(in)); });
  in.Sequence(limits::kSmallList,
              [&] { program.blends.push_back(ReadAxisValue(in)); });
  in.Sequence(limits::kOverrides,
              [&] { program.overrides.push_back(ReadOverride(in)); });
  in.Sequence(limits::kOverrides,
              [&] { program.workgroup_size.push_back(in.Text()); });
  program.no_contraction = in.U8() != 0;
  program.specialization = static_cast<Specialization>(in.U8());
  program.derivation = in.Text();
  program.surface.include = in.Text();
  program.surface.function = in.Text();
  program.surface.parameters = in.Text();
}

void WriteFiles(CanonicalWriter& out, const Program& program) {
  out.Sequence(program.files, [&](const SourceFile& file) {
    out.Text(file.path);
    out.Text(file.text);
  });
  out.Sequence(program.includes, [&](const IncludeEdge& edge) {
    out.Text(edge.from);
    out.Text(edge.name);
    out.U8(edge.angled ? 1 : 0);
    out.Text(edge.path);
    out.Text(edge.problem);
  });
}

void ReadFiles(CanonicalReader& in, Program& program) {
  in.Sequence(limits::kProgramFiles, [&] {
    std::string path = in.Text();
    program.files.push_back({std::move(path), in.Text()});
  });
  in.Sequence(limits::kProgramIncludes, [&] {
    IncludeEdge& edge = program.includes.emplace_back();
    edge.from = in.Text();
    edge.name = in.Text();
    edge.angled = in.U8() != 0;
    edge.path = in.Text();
    edge.problem = in.Text();
  });
}

}  // namespace

Bytes EncodeProgram(const Program& program) {
  CanonicalWriter out;
  out.U32(kProgramMagic);
  out.Text(program.name);
  out.U8(program.rooted ? 1 : 0);
  out.Sequence(program.stages, [&](const StageSource& source) {
    out.U8(static_cast<uint8_t>(source.stage));
    out.Text(source.path);
    out.U8(static_cast<uint8_t>(source.language));
    out.Text(source.entry);
  });
  out.Sequence(program.defines, [&](const Define& define) {
    out.Text(define.name);
    out.Text(define.value);
  });
  WriteSchema(out, program);
  WriteSkeleton(out, program.pipeline);
  WriteFiles(out, program);
  return std::move(out).Take();
}

absl::StatusOr<Program> DecodeProgram(ByteView bytes) {
  CanonicalReader in(bytes);
  if (const uint32_t magic = in.U32(); magic != kProgramMagic) {
    return absl::InvalidArgumentError(fmt::format(
        "program: magic is {:#x}, not {:#x}", magic, kProgramMagic));
  }
  Program program;
  program.name = in.Text();
  program.rooted = in.U8() != 0;
  in.Sequence(limits::kSmallList, [&] {
    StageSource& source = program.stages.emplace_back();
    source.stage = static_cast<Stage>(in.U8());
    source.path = in.Text();
    source.language = static_cast<Language>(in.U8());
    source.entry = in.Text();
  });
  in.Sequence(limits::kDefines, [&] {
    std::string name = in.Text();
    program.defines.push_back({std::move(name), in.Text()});
  });
  ReadSchema(in, program);
  program.pipeline = ReadSkeleton(in);
  ReadFiles(in, program);
  KILN_RETURN_IF_ERROR(in.Finish("program"));
  KILN_RETURN_IF_ERROR(program.Validate());
  // An id names bytes: one program must not have two.
  const Bytes canonical = EncodeProgram(program);
  if (!std::ranges::equal(canonical, bytes)) {
    return absl::InvalidArgumentError("program: the bytes are not canonical");
  }
  return program;
}

}  // namespace kiln
