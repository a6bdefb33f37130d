// SPDX-License-Identifier: Apache-2.0
#include "proto/program_facts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/text.h"

namespace kiln {
namespace {

std::string ValueText(ConstantType type, uint64_t value) {
  return fmt::format("{} {}", ConstantTypeName(type),
                     FormatConstant(type, value));
}

std::string StageNames(const std::vector<Stage>& stages) {
  std::vector<std::string_view> names;
  for (const Stage stage : stages) {
    names.push_back(StageName(stage));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string_view OwnerName(FeatureOwner owner) {
  switch (owner) {
    case FeatureOwner::kMaterial:
      return "material";
    case FeatureOwner::kFrame:
      return "frame";
    default:
      return "material and frame";
  }
}

// Collects facts of one kind.
class FactList {
 public:
  explicit FactList(std::vector<ProgramFact>& facts) : facts_(facts) {}

  void set_kind(std::string_view kind) { kind_ = kind; }

  void Add(std::string name, std::string value, std::string whole = "") {
    if (!value.empty()) {
      facts_.push_back({std::string(kind_), std::move(name), std::move(value),
                        std::move(whole)});
    }
  }

 private:
  std::vector<ProgramFact>& facts_;
  std::string_view kind_;
};

void AddOptions(const Program& program, FactList& facts) {
  facts.set_kind("define");
  for (const Define& define : program.defines) {
    facts.Add(define.name, Quoted(define.value));
  }
  facts.set_kind("option");
  facts.Add("name", Quoted(program.name));
  for (const StageSource& stage : program.stages) {
    const std::string name = fmt::format("{} stage", StageName(stage.stage));
    facts.Add(name, Quoted(stage.path));
    facts.Add(fmt::format("{} language", name),
              std::string(LanguageName(stage.language)), name);
    facts.Add(fmt::format("{} entry", name), Quoted(stage.entry), name);
  }
  facts.Add("no_contraction", program.no_contraction ? "true" : "false");
  facts.Add("specialization",
            std::string(SpecializationName(program.specialization)));
  facts.Add("rooted", program.rooted ? "true" : "false");
  facts.Add("derivation",
            program.derivation.empty() ? "" : Quoted(program.derivation));
  facts.set_kind("surface");
  if (const SurfaceSlot& slot = program.surface; !slot.include.empty()) {
    facts.Add("include", Quoted(slot.include));
    facts.Add("function", Quoted(slot.function), "include");
    facts.Add("parameters", Quoted(slot.parameters), "include");
  }
}

void AddAxisValue(const std::string& name, const AxisValue& value,
                  FactList& facts) {
  for (const Constant& constant : value.constants) {
    const std::string label =
        constant.id == kIdByName ? constant.name : std::to_string(constant.id);
    facts.Add(fmt::format("{} constant {}", name, label),
              ValueText(constant.type, constant.value), name);
  }
  for (const StateSetting& setting : value.state) {
    facts.Add(fmt::format("{} {}", name, setting.name), Quoted(setting.value),
              name);
  }
}

void AddKinds(const Program& program, FactList& facts) {
  for (const Kind& kind : program.kinds) {
    const std::string name = fmt::format("kind {}", kind.value.name);
    facts.Add(name, "declared");
    facts.Add(name + " uses backdrop", kind.uses_backdrop ? "true" : "false",
              name);
    facts.Add(name + " uses blend", kind.uses_blend ? "true" : "false", name);
    facts.Add(name + " ignores", program.FeatureText(kind.ignored_features),
              name);
    AddAxisValue(name, kind.value, facts);
  }
  const std::pair<std::string_view, const std::vector<AxisValue>&> axes[] = {
      {"backdrop", program.backdrops}, {"blend", program.blends}};
  for (const auto& [axis, values] : axes) {
    facts.Add(fmt::format("default {}", axis),
              values.empty() ? "" : Quoted(values.front().name));
    for (const AxisValue& value : values) {
      const std::string name = fmt::format("{} {}", axis, value.name);
      facts.Add(name, "declared");
      AddAxisValue(name, value, facts);
    }
  }
}

void AddOverrides(const Program& program, FactList& facts) {
  for (const Override& entry : program.overrides) {
    const std::string name = fmt::format("override {}", entry.name);
    auto bound = [&](const char* what, const std::optional<uint64_t>& value) {
      if (value) {
        facts.Add(name + what, FormatConstant(entry.type, *value), name);
      }
    };
    facts.Add(name,
              fmt::format("{}, default {}", ConstantTypeName(entry.type),
                          FormatConstant(entry.type, entry.default_value)));
    facts.Add(name + " constant_id",
              entry.constant_id ? std::to_string(*entry.constant_id) : "",
              name);
    bound(" min", entry.min);
    bound(" max", entry.max);
    std::vector<std::string> steps;
    for (const uint64_t step : entry.steps) {
      steps.push_back(FormatConstant(entry.type, step));
    }
    facts.Add(name + " steps", fmt::format("{}", fmt::join(steps, ", ")), name);
  }
}

void AddSchema(const Program& program, FactList& facts) {
  facts.set_kind("schema");
  facts.Add("features constants",
            fmt::format("{}", fmt::join(program.features_constant_ids, ", ")));
  for (const FeatureBit& feature : program.features) {
    facts.Add(fmt::format("feature {}", feature.name),
              fmt::format("bit {}, {}", feature.bit, OwnerName(feature.owner)));
  }
  for (size_t i = 0; i < program.merged.size(); ++i) {
    facts.Add(fmt::format("merged group {}", i + 1),
              program.FeatureText(program.merged[i]));
  }
  AddKinds(program, facts);
  AddOverrides(program, facts);
  facts.Add("workgroup size",
            fmt::format("{}", fmt::join(program.workgroup_size, ", ")));
}

void AddPipeline(const PipelineSkeleton& pipeline, FactList& facts) {
  facts.set_kind("pipeline");
  facts.Add("topology", Quoted(pipeline.topology));
  for (size_t i = 0; i < pipeline.color_formats.size(); ++i) {
    facts.Add(fmt::format("color format {}", i),
              Quoted(pipeline.color_formats[i]));
  }
  facts.Add("depth format",
            pipeline.depth_format.empty() ? "" : Quoted(pipeline.depth_format));
  facts.Add("samples", std::to_string(pipeline.samples));
  for (const VertexBinding& binding : pipeline.vertex_bindings) {
    facts.Add(fmt::format("vertex binding {}", binding.binding),
              fmt::format("stride {} bytes, per {}", binding.stride_bytes,
                          binding.per_instance ? "instance" : "vertex"));
  }
  for (const VertexAttribute& attribute : pipeline.vertex_attributes) {
    facts.Add(fmt::format("vertex attribute {}", attribute.location),
              fmt::format("{} at byte {} of binding {}", attribute.format,
                          attribute.offset_bytes, attribute.binding));
  }
  for (const Descriptor& descriptor : pipeline.descriptors) {
    facts.Add(
        fmt::format("descriptor {}.{}", descriptor.set, descriptor.binding),
        fmt::format("{} of {}, in {}", descriptor.count, descriptor.type,
                    StageNames(descriptor.stages)));
  }
  if (pipeline.push_constant_bytes != 0) {
    facts.Add("push constants",
              fmt::format("{} bytes, in {}", pipeline.push_constant_bytes,
                          StageNames(pipeline.push_constant_stages)));
  }
}

}  // namespace

std::vector<ProgramFact> FactsOf(const Program& program) {
  std::vector<ProgramFact> result;
  FactList facts(result);
  AddOptions(program, facts);
  AddSchema(program, facts);
  AddPipeline(program.pipeline, facts);
  return result;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\r') {
      quoted += "\\r";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return ToValidUtf8(quoted) + "\"";
}

std::string OneLine(std::string_view text, size_t max_bytes) {
  std::string line = Shorten(text, max_bytes);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

}  // namespace kiln
