// SPDX-License-Identifier: Apache-2.0
#include "shaders/schema_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "proto/text.h"
#include "shaders/module_constants.h"
#include "shaders/reflection.h"
#include "shaders/schema_features.h"
#include "shaders/schema_text.h"

namespace kiln::shaders {
namespace {

// A constant as the schema names it.
struct SchemaConstant {
  std::string field;           // "features.constant_id", "override SAMPLES"
  std::optional<uint32_t> id;  // absent: by name
  std::string name;            // of the shader; empty: the schema does not say
  std::optional<ConstantType> type;
  std::optional<uint64_t> default_value;
  std::vector<std::pair<std::string, Constant>> values;  // of axes, with whose
};

// A constant as a stage or the text has it.
struct ShaderConstant {
  std::string where;  // "in the fragment stage", "at features.glsl:11"
  bool in_text = false;
  uint32_t id = 0;
  std::string name;  // empty: it has none
  std::optional<ConstantType> type;
  std::optional<uint64_t> default_value;

  std::string Label() const {
    return name.empty() ? fmt::format("constant_id {}", id)
                        : fmt::format("constant_id {} `{}`", id, name);
  }
};

void AddAxis(std::string_view axis, const AxisValue& value,
             std::map<uint32_t, SchemaConstant>& constants) {
  for (const Constant& constant : value.constants) {
    SchemaConstant& entry = constants[constant.id];
    entry.id = constant.id;
    const std::string who = fmt::format("{} {}", axis, value.name);
    if (entry.field.empty()) {
      entry.field = who;
    }
    entry.values.emplace_back(who, constant);
  }
}

std::vector<SchemaConstant> ConstantsOf(const Program& program) {
  std::map<uint32_t, SchemaConstant> by_id;
  for (const Kind& kind : program.kinds) {
    AddAxis("kind", kind.value, by_id);
  }
  for (const AxisValue& backdrop : program.backdrops) {
    AddAxis("backdrop", backdrop, by_id);
  }
  for (const AxisValue& blend : program.blends) {
    AddAxis("blend", blend, by_id);
  }
  std::vector<SchemaConstant> constants;
  for (auto& [id, constant] : by_id) {
    constants.push_back(std::move(constant));
  }
  for (size_t i = 0; i < program.features_constant_ids.size(); ++i) {
    constants.push_back(
        {i == 0 ? "features.constant_id" : "features.high_constant_id",
         program.features_constant_ids[i],
         "",
         ConstantType::kUint32,
         FeatureWord(program.AllFeatures(), i),
         {}});
  }
  for (const Override& entry : program.overrides) {
    constants.push_back({"override " + entry.name,
                         entry.constant_id,
                         entry.name,
                         entry.type,
                         entry.default_value,
                         {}});
  }
  return constants;
}

std::vector<ShaderConstant> ConstantsOf(std::string_view stage,
                                        const ModuleConstants& module) {
  std::vector<ShaderConstant> constants;
  for (const DeclaredConstant& declared : module.declared()) {
    if (declared.constant_id) {
      constants.push_back({fmt::format("in the {} stage", stage), false,
                           *declared.constant_id, ToValidUtf8(declared.name),
                           declared.type, declared.default_value});
    }
  }
  return constants;
}

std::vector<ShaderConstant> ConstantsOf(const ShaderText& text) {
  std::vector<ShaderConstant> constants;
  for (const TextConstant& constant : text.constants) {
    constants.push_back({"at " + WhereOf(constant.place), true, constant.id,
                         constant.name, constant.type, constant.default_value});
  }
  return constants;
}

std::string TypeText(const std::optional<ConstantType>& type) {
  return type ? std::string(ConstantTypeName(*type)) : "no scalar type";
}

bool IsFloat(ConstantType type) {
  return type == ConstantType::kFloat16 || type == ConstantType::kFloat32 ||
         type == ConstantType::kFloat64;
}

// The constants of all three accounts.
class Comparison {
 public:
  Comparison(const Program& program, Disagreements& found)
      : found_(found), schema_(ConstantsOf(program)) {}

  void Add(std::vector<ShaderConstant> constants) {
    shader_.insert(shader_.end(), std::make_move_iterator(constants.begin()),
                   std::make_move_iterator(constants.end()));
  }

  void Run() {
    for (const SchemaConstant& constant : schema_) {
      CompareOne(constant);
    }
    CompareUnnamed();
    CompareAmongThemselves();
  }

 private:
  static bool Matches(const SchemaConstant& constant,
                      const ShaderConstant& shader) {
    return constant.id ? *constant.id == shader.id
                       : constant.name == shader.name;
  }

  void CompareOne(const SchemaConstant& constant) {
    bool in_text = false;
    bool in_modules = false;
    for (const ShaderConstant& shader : shader_) {
      if (!Matches(constant, shader)) {
        continue;
      }
      (shader.in_text ? in_text : in_modules) = true;
      CompareValues(constant, shader);
    }
    const std::string what =
        constant.id ? fmt::format("constant_id {}", *constant.id)
                    : fmt::format("a constant `{}`", constant.name);
    if (!in_text) {
      found_.push_back(fmt::format("{}: the shader text does not declare {}",
                                   constant.field, what));
    }
    if (!in_modules) {
      found_.push_back(fmt::format("{}: the SPIR-V of no stage has {}",
                                   constant.field, what));
    }
  }

  void CompareValues(const SchemaConstant& constant,
                     const ShaderConstant& shader) {
    if (!constant.name.empty() && !shader.name.empty() &&
        constant.name != shader.name) {
      found_.push_back(fmt::format("{}: constant_id {} is called `{}` {}",
                                   constant.field, shader.id, shader.name,
                                   shader.where));
    }
    if (constant.type && shader.type != constant.type) {
      found_.push_back(fmt::format("{}: type {} in the schema, {} {}",
                                   constant.field, TypeText(constant.type),
                                   TypeText(shader.type), shader.where));
      return;
    }
    // What has no name, `local_size_x_id`, has no default to write.
    if (constant.default_value && shader.default_value &&
        shader.default_value != constant.default_value) {
      found_.push_back(fmt::format(
          "{}: default {} in the schema, {} {}", constant.field,
          FormatDefault(constant, *constant.default_value),
          FormatDefault(constant, *shader.default_value), shader.where));
    }
    for (const auto& [who, value] : constant.values) {
      CompareAxis(who, value, shader);
    }
  }

  // Masks are read in hexadecimal.
  std::string FormatDefault(const SchemaConstant& constant,
                            uint64_t value) const {
    return constant.field.starts_with("features.")
               ? fmt::format("{:#x}", value)
               : FormatConstant(*constant.type, value);
  }

  // The schema gives an axis' constants no type: their values must fit.
  void CompareAxis(const std::string& who, const Constant& value,
                   const ShaderConstant& shader) {
    const std::string text = FormatConstant(value.type, value.value);
    const bool fits =
        shader.type && (*shader.type == value.type ||
                        (IsFloat(*shader.type) == IsFloat(value.type) &&
                         value.type != ConstantType::kBool &&
                         ParseConstant(*shader.type, text).ok()));
    if (!fits) {
      found_.push_back(fmt::format(
          "{}: {} {} in the schema for constant_id {}, which is {} {}", who,
          ConstantTypeName(value.type), text, shader.id, TypeText(shader.type),
          shader.where));
    }
  }

  void CompareUnnamed() {
    std::set<std::tuple<std::string, uint32_t>> reported;
    for (const ShaderConstant& shader : shader_) {
      const bool named =
          std::ranges::any_of(schema_, [&](const SchemaConstant& constant) {
            return Matches(constant, shader) || NamesIdOf(constant, shader);
          });
      if (!named && reported.insert({shader.where, shader.id}).second) {
        found_.push_back(fmt::format("{} {} is not in the schema",
                                     shader.Label(), shader.where));
      }
    }
  }

  // An override found by name also covers what shares its id without a name.
  bool NamesIdOf(const SchemaConstant& constant,
                 const ShaderConstant& shader) const {
    return !constant.id && shader.name.empty() &&
           std::ranges::any_of(shader_, [&](const ShaderConstant& other) {
             return other.id == shader.id && other.name == constant.name;
           });
  }

  // One id is one constant, one name one id, and the text is what was compiled.
  void CompareAmongThemselves() {
    std::map<uint32_t, const ShaderConstant*> by_id;
    std::map<std::string, const ShaderConstant*> by_name;
    for (const ShaderConstant& shader : shader_) {
      const ShaderConstant*& first = by_id[shader.id];
      if (first == nullptr || (first->name.empty() && !shader.name.empty())) {
        first = &shader;
      }
    }
    for (const ShaderConstant& shader : shader_) {
      CompareTwo(*by_id[shader.id], shader);
      if (shader.name.empty()) {
        continue;
      }
      const ShaderConstant*& first = by_name[shader.name];
      if (first == nullptr) {
        first = &shader;
      } else if (first->id != shader.id) {
        found_.push_back(fmt::format("constant `{}`: constant_id {} {}, {} {}",
                                     shader.name, first->id, first->where,
                                     shader.id, shader.where));
      }
    }
  }

  void CompareTwo(const ShaderConstant& first, const ShaderConstant& other) {
    const auto differ = [&](std::string_view what, std::string_view a,
                            std::string_view b) {
      found_.push_back(fmt::format("constant_id {}: {} {} {}, {} {}", first.id,
                                   what, a, first.where, b, other.where));
    };
    if (!other.name.empty() && other.name != first.name) {
      differ("name", first.name, other.name);
    }
    if (other.type != first.type) {
      differ("type", TypeText(first.type), TypeText(other.type));
    } else if (first.type && first.default_value && other.default_value &&
               first.default_value != other.default_value) {
      differ("default", FormatConstant(*first.type, *first.default_value),
             FormatConstant(*first.type, *other.default_value));
    }
  }

  Disagreements& found_;
  std::vector<SchemaConstant> schema_;
  std::vector<ShaderConstant> shader_;
};

// The constant_id of an override; kIdByName when the module has none.
uint32_t IdOf(const Program& program, std::string_view override_name,
              const ModuleConstants& module) {
  const Override* entry = program.FindOverride(override_name);
  if (entry != nullptr && entry->constant_id) {
    return *entry->constant_id;
  }
  for (const DeclaredConstant& declared : module.declared()) {
    if (declared.name == override_name && declared.constant_id) {
      return *declared.constant_id;
    }
  }
  return kIdByName;
}

void CompareWorkgroup(const Program& program, const StageModule& module,
                      const ModuleConstants& constants, Disagreements& found) {
  const auto ids = WorkgroupSizeIds(module.spirv);
  if (!ids.ok()) {
    found.push_back(std::string(ids.status().message()));
    return;
  }
  for (size_t i = 0; i < program.workgroup_size.size() && i < 3; ++i) {
    const std::string& name = program.workgroup_size[i];
    const std::optional<uint32_t>& id = (*ids)[i];
    if (id && *id == IdOf(program, name, constants)) {
      continue;
    }
    found.push_back(fmt::format(
        "workgroup_size: {} is the override {} in the schema, {} in the {} "
        "stage",
        "xyz"[i], name,
        id ? fmt::format("constant_id {}", *id) : "no specialization constant",
        StageName(module.stage)));
  }
}

}  // namespace

std::vector<std::string> CompareSchema(const Program& program,
                                       std::span<const StageModule> modules) {
  Disagreements found;
  Comparison comparison(program, found);
  FeatureComparison features(program, found);
  for (const StageModule& module : modules) {
    const std::string_view stage = StageName(module.stage);
    absl::StatusOr<ModuleConstants> constants =
        ModuleConstants::Parse(module.spirv);
    if (!constants.ok()) {
      found.push_back(fmt::format("the {} stage: {}", stage,
                                  std::string(constants.status().message())));
      continue;
    }
    comparison.Add(ConstantsOf(stage, *constants));
    features.AddModule(stage, *constants);
    if (module.stage == Stage::kCompute) {
      CompareWorkgroup(program, module, *constants, found);
    }
  }
  const ShaderText text = ReadShaderText(program);
  comparison.Add(ConstantsOf(text));
  features.AddText(text);
  comparison.Run();
  features.Finish();
  // glslang makes several constants of one `local_size_x_id`.
  std::set<std::string> seen;
  std::erase_if(found, [&](const std::string& line) {
    return !seen.insert(line).second;
  });
  return found;
}

}  // namespace kiln::shaders
