// SPDX-License-Identifier: Apache-2.0
#include "proto/program_file.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/toml_table.h"

namespace kiln {
namespace {

constexpr int64_t kFormat = 1;

std::string StateText(const toml::node& node) {
  if (auto flag = node.value_exact<bool>()) {
    return *flag ? "true" : "false";
  }
  if (auto number = node.value_exact<int64_t>()) {
    return std::to_string(*number);
  }
  return node.value_or(std::string());
}

// A specialization constant's value as TOML writes it: true, -3, 2.5, or text
// for what TOML has no number for, as "0xffffffffffffffff".
std::string ValueText(const toml::node& node) {
  if (auto number = node.value_exact<double>()) {
    return fmt::format("{}", *number);
  }
  return StateText(node);
}

uint64_t ReadValue(TableReader& reader, const toml::node& node,
                   std::string_view what, ConstantType type) {
  absl::StatusOr<uint64_t> value = ParseConstant(type, ValueText(node));
  if (!value.ok()) {
    reader.Fail(node, fmt::format("{}: {}", what,
                                  std::string(value.status().message())));
  }
  return value.value_or(0);
}

// The type that a bare TOML value stands for in an axis' constants.
ConstantType TypeOf(const toml::node& node) {
  if (node.is_boolean()) {
    return ConstantType::kBool;
  }
  if (node.is_floating_point()) {
    return ConstantType::kFloat32;
  }
  const auto number = node.value_exact<int64_t>();
  return number && *number < 0 ? ConstantType::kInt32 : ConstantType::kUint32;
}

AxisValue ReadAxisValue(TableReader& reader) {
  AxisValue value;
  value.name = reader.Text("name");
  reader.Table("constants", false, [&](TableReader& constants) {
    constants.Entries([&](const std::string& key, const toml::node& node) {
      Constant constant;
      auto [end, error] =
          std::from_chars(key.data(), key.data() + key.size(), constant.id);
      if (error != std::errc() || end != key.data() + key.size() ||
          constant.id == kIdByName) {
        constants.Fail(node, fmt::format("constant '{}' is not <id> = <value>",
                                         ToValidUtf8(key)));
        return;
      }
      constant.type = TypeOf(node);
      constant.value =
          ReadValue(constants, node, "constant " + key, constant.type);
      value.constants.push_back(constant);
    });
  });
  reader.Table("state", false, [&](TableReader& state) {
    state.Entries([&](const std::string& key, const toml::node& node) {
      value.state.push_back({key, StateText(node)});
    });
  });
  return value;
}

// The bits of a list of feature names. Requires: [features] has been read.
FeatureMask ReadFeatureNames(TableReader& reader, const Program& program,
                             const std::vector<std::string>& names) {
  FeatureMask mask = 0;
  for (const std::string& name : names) {
    if (const FeatureBit* feature = program.FindFeature(name);
        feature != nullptr && feature->bit < limits::kFeatureBits) {
      mask |= FeatureMask{1} << feature->bit;
    } else {
      reader.FailHere(fmt::format("no feature '{}'", name));
    }
  }
  return mask;
}

Kind ReadKind(TableReader& reader, const Program& program) {
  reader.Keys({"name", "axes", "features", "constants", "state"});
  Kind kind;
  if (reader.Has("features")) {
    kind.ignored_features =
        program.AllFeatures() &
        ~ReadFeatureNames(reader, program, reader.Texts("features", true));
  }
  kind.value = ReadAxisValue(reader);
  for (const std::string& axis : reader.Texts("axes", false)) {
    kind.uses_backdrop |= axis == "backdrop";
    kind.uses_blend |= axis == "blend";
    if (axis != "backdrop" && axis != "blend") {
      reader.FailHere(
          fmt::format("kind {}: unknown axis '{}'", kind.value.name, axis));
    }
  }
  return kind;
}

FeatureBit ReadFeature(TableReader& reader) {
  reader.Keys({"bit", "name", "owner"});
  FeatureBit feature{reader.U32("bit"), reader.Text("name"),
                     FeatureOwner::kMaterial};
  const std::string owner = reader.Text("owner");
  if (owner == "frame") {
    feature.owner = FeatureOwner::kFrame;
  } else if (owner == "both") {
    feature.owner = FeatureOwner::kBoth;
  } else if (owner != "material") {
    reader.FailHere(
        fmt::format("feature {}: owner '{}' is not material, frame or both",
                    feature.name, owner));
  }
  return feature;
}

Override ReadOverride(TableReader& reader) {
  reader.Keys(
      {"name", "constant_id", "type", "default", "min", "max", "steps"});
  Override entry;
  entry.name = reader.Text("name");
  if (reader.Has("constant_id")) {
    entry.constant_id = reader.U32("constant_id");
  }
  auto type = ConstantTypeFromName(reader.Text("type", false, "uint"));
  if (!type.ok()) {
    reader.FailHere(fmt::format("override {}: {}", entry.name,
                                std::string(type.status().message())));
    return entry;
  }
  entry.type = *type;
  auto read = [&](std::string_view key) -> std::optional<uint64_t> {
    const toml::node* node = reader.Node(key);
    return node == nullptr
               ? std::nullopt
               : std::optional(ReadValue(reader, *node,
                                         fmt::format("override {}", entry.name),
                                         *type));
  };
  entry.default_value = read("default").value_or(0);
  entry.min = read("min");
  entry.max = read("max");
  reader.Values("steps", [&](const toml::node& node) {
    entry.steps.push_back(
        ReadValue(reader, node, fmt::format("override {}", entry.name), *type));
  });
  return entry;
}

std::vector<Stage> ReadStageList(TableReader& reader) {
  std::vector<Stage> stages;
  for (const std::string& name : reader.Texts("stages", true)) {
    if (auto stage = StageFromName(name); stage.ok()) {
      stages.push_back(*stage);
    } else {
      reader.FailHere(stage.status().message().data());
    }
  }
  return stages;
}

void ReadSkeleton(TableReader& root, PipelineSkeleton& skeleton) {
  root.Table("pipeline", false, [&](TableReader& reader) {
    reader.Keys({"topology", "color_formats", "depth_format", "samples"});
    skeleton.topology = reader.Text("topology", false, skeleton.topology);
    skeleton.color_formats = reader.Texts("color_formats", false);
    skeleton.depth_format = reader.Text("depth_format", false);
    skeleton.samples = reader.U32("samples", false, 1);
  });
  root.Tables("vertex_binding", [&](TableReader& reader) {
    reader.Keys({"binding", "stride", "per_instance"});
    skeleton.vertex_bindings.push_back({reader.U32("binding"),
                                        reader.U32("stride"),
                                        reader.Bool("per_instance", false)});
  });
  root.Tables("vertex_attribute", [&](TableReader& reader) {
    reader.Keys({"location", "binding", "format", "offset"});
    skeleton.vertex_attributes.push_back(
        {reader.U32("location"), reader.U32("binding"), reader.Text("format"),
         reader.U32("offset")});
  });
  root.Tables("descriptor", [&](TableReader& reader) {
    reader.Keys({"set", "binding", "type", "count", "stages"});
    skeleton.descriptors.push_back(
        {reader.U32("set"), reader.U32("binding"), reader.Text("type"),
         reader.U32("count", false, 1), ReadStageList(reader)});
  });
  root.Table("push_constants", false, [&](TableReader& reader) {
    reader.Keys({"bytes", "stages"});
    skeleton.push_constant_bytes = reader.U32("bytes");
    skeleton.push_constant_stages = ReadStageList(reader);
  });
}

void ReadFeatures(TableReader& reader, Program& program) {
  reader.Keys({"constant_id", "high_constant_id", "bit", "merged"});
  program.features_constant_ids.push_back(reader.U32("constant_id"));
  if (reader.Has("high_constant_id")) {
    program.features_constant_ids.push_back(reader.U32("high_constant_id"));
  }
  reader.Tables("bit", [&](TableReader& bit) {
    program.features.push_back(ReadFeature(bit));
  });
  reader.Tables("merged", [&](TableReader& group) {
    group.Keys({"bits"});
    program.merged.push_back(
        ReadFeatureNames(group, program, group.Texts("bits", true)));
  });
}

// What a compute program need not say: it has one kind and no state.
void ReadCompute(TableReader& root, Program& program) {
  root.Table("compute", false, [&](TableReader& reader) {
    reader.Keys({"workgroup_size"});
    program.workgroup_size = reader.Texts("workgroup_size", true);
  });
  if (program.IsCompute() && program.kinds.empty()) {
    program.kinds.push_back({{"compute", {}, {}}});
  }
}

void ReadSpecialization(TableReader& reader, Program& program) {
  if (!reader.Has("specialization")) {
    return;
  }
  const std::string name = reader.Text("specialization");
  if (name == SpecializationName(Specialization::kDriver)) {
    program.specialization = Specialization::kDriver;
  } else if (name != SpecializationName(Specialization::kModule)) {
    reader.FailHere(fmt::format(
        "compile: specialization '{}' is neither module nor driver", name));
  }
}

// `fragment = "lit.frag"`, or a table { source, language, entry }.
StageSource ReadStage(TableReader& stages, Stage stage,
                      const toml::node& node) {
  StageSource source;
  source.stage = stage;
  source.path = node.value_or(std::string());
  source.language = LanguageOfPath(source.path);
  if (node.is_table()) {
    stages.Table(StageName(stage), true, [&](TableReader& reader) {
      reader.Keys({"source", "language", "entry"});
      source.path = reader.Text("source");
      source.entry = reader.Text("entry", false, "main");
      source.language = LanguageOfPath(source.path);
      if (reader.Has("language")) {
        auto language = LanguageFromName(reader.Text("language"));
        if (!language.ok()) {
          reader.FailHere(std::string(language.status().message()));
        }
        source.language = language.value_or(Language::kGlsl);
      }
    });
  }
  return source;
}

void ReadSchema(TableReader& root, Program& program) {
  root.Table("stages", true, [&](TableReader& reader) {
    reader.Entries([&](const std::string& key, const toml::node& node) {
      if (auto stage = StageFromName(key); stage.ok()) {
        program.stages.push_back(ReadStage(reader, *stage, node));
      } else {
        reader.Fail(node, fmt::format("unknown stage '{}'", ToValidUtf8(key)));
      }
    });
  });
  std::ranges::sort(program.stages, {}, &StageSource::stage);
  root.Table("defines", false, [&](TableReader& reader) {
    reader.Entries([&](const std::string& key, const toml::node& node) {
      program.defines.push_back({key, StateText(node)});
    });
  });
  root.Table("features", false,
             [&](TableReader& reader) { ReadFeatures(reader, program); });
  root.Tables("kind", [&](TableReader& reader) {
    program.kinds.push_back(ReadKind(reader, program));
  });
  auto read_axis = [](std::vector<AxisValue>& values) {
    return [&values](TableReader& reader) {
      reader.Keys({"name", "constants", "state"});
      values.push_back(ReadAxisValue(reader));
    };
  };
  root.Tables("backdrop", read_axis(program.backdrops));
  root.Tables("blend", read_axis(program.blends));
  root.Tables("override", [&](TableReader& reader) {
    program.overrides.push_back(ReadOverride(reader));
  });
  ReadCompute(root, program);
  root.Table("compile", false, [&](TableReader& reader) {
    reader.Keys({"no_contraction", "specialization"});
    program.no_contraction = reader.Bool("no_contraction", false);
    ReadSpecialization(reader, program);
  });
  root.Table("derivation", false, [&](TableReader& reader) {
    reader.Keys({"source"});
    program.derivation = reader.Text("source");
  });
  root.Table("surface", false, [&](TableReader& reader) {
    reader.Keys({"include", "function", "parameters"});
    program.surface.include = reader.Text("include");
    program.surface.function = reader.Text("function", false, "surface");
    program.surface.parameters = reader.Text("parameters");
  });
  // A program without an axis has one unnamed choice on it.
  if (program.backdrops.empty()) {
    program.backdrops.push_back({"none", {}, {}});
  }
  if (program.blends.empty()) {
    program.blends.push_back({"none", {}, {}});
  }
}

// Errors name what is wrong, the caller says with which file.
absl::StatusOr<std::string> ReadWholeFile(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::NotFoundError("no such file");
  }
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > limits::kProgramBytes) {
    return absl::InvalidArgumentError(
        fmt::format("over {} bytes, or unreadable", limits::kProgramBytes));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) {
    return absl::PermissionDeniedError("cannot be read");
  }
  return text;
}

// `status` with what it is about in front.
absl::Status About(std::string_view what, const absl::Status& status) {
  const absl::string_view text = status.message();
  return {status.code(),
          fmt::format("{}: {}", ToValidUtf8(what),
                      std::string_view(text.data(), text.size()))};
}

absl::Status ReadSources(const std::filesystem::path& folder,
                         const std::vector<std::string>& names,
                         Program& program) {
  std::error_code error;
  const auto root = std::filesystem::canonical(folder, error);
  for (const std::string& name : names) {
    const auto file = std::filesystem::weakly_canonical(root / name, error);
    const auto relative = file.lexically_relative(root);
    if (error || relative.empty() || *relative.begin() == "..") {
      return absl::InvalidArgumentError(fmt::format(
          "source '{}' lies outside the program's folder", ToValidUtf8(name)));
    }
    absl::StatusOr<std::string> text = ReadWholeFile(file);
    if (!text.ok()) {
      return About(fmt::format("source '{}'", name), text.status());
    }
    program.files.push_back({name, *std::move(text)});
  }
  std::ranges::sort(program.files, {}, &SourceFile::path);
  return absl::OkStatus();
}

absl::StatusOr<Program> ReadProgram(const std::filesystem::path& file,
                                    const ProgramFileOptions& options) {
  KILN_ASSIGN_OR_RETURN(std::string text, ReadWholeFile(file));
  toml::table table;
  try {  // toml++ has no error-code interface unless exceptions are off
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(
        fmt::format("line {}: {}", error.source().begin.line,
                    ToValidUtf8(error.description())));
  }
  absl::Status status;
  TableReader root(table, "program", status);
  root.Keys({"format",     "name",           "rooted",
             "sources",    "stages",         "defines",
             "features",   "kind",           "backdrop",
             "blend",      "override",       "compute",
             "compile",    "derivation",     "surface",
             "pipeline",   "vertex_binding", "vertex_attribute",
             "descriptor", "push_constants"});
  if (const uint32_t format = root.U32("format");
      status.ok() && format != kFormat) {
    return absl::InvalidArgumentError(fmt::format(
        "format is {}; this version reads format {}", format, kFormat));
  }
  Program program;
  program.name = root.Text("name");
  ReadSchema(root, program);
  ReadSkeleton(root, program.pipeline);
  const bool says_rooted = root.Bool("rooted", false);
  program.rooted = says_rooted || options.rooted;
  const std::vector<std::string> sources = root.Texts("sources", !says_rooted);
  KILN_RETURN_IF_ERROR(status);
  if (says_rooted && !sources.empty()) {
    return absl::InvalidArgumentError(
        "a rooted program lists no sources: kilnd finds them");
  }
  if (!program.rooted) {
    KILN_RETURN_IF_ERROR(
        ReadSources(file.parent_path().empty() ? "." : file.parent_path(),
                    sources, program));
  }
  KILN_RETURN_IF_ERROR(program.Validate());
  return program;
}

}  // namespace

absl::StatusOr<Program> LoadProgramFile(const std::filesystem::path& file,
                                        const ProgramFileOptions& options) {
  absl::StatusOr<Program> program = ReadProgram(file, options);
  if (!program.ok()) {
    return About(file.string(), program.status());
  }
  return program;
}

}  // namespace kiln
