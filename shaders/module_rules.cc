// SPDX-License-Identifier: Apache-2.0
#include "shaders/module_rules.h"

#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spirv/unified1/spirv.hpp11>

#include "proto/limits.h"
#include "proto/spirv_view.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/module_constants.h"
#include "shaders/module_sizes.h"
#include "shaders/spirv_op.h"

namespace kiln::shaders {
namespace {

constexpr size_t kEntryPointsShown = 16;

// Devices have 128 (module_limits.h); this is what the validator can count.
constexpr uint64_t kInterfaceComponents = 65536;

std::string ModelName(uint32_t model) {
  switch (static_cast<spv::ExecutionModel>(model)) {
    case spv::ExecutionModel::Vertex:
      return "vertex";
    case spv::ExecutionModel::TessellationControl:
      return "tessellation control";
    case spv::ExecutionModel::TessellationEvaluation:
      return "tessellation evaluation";
    case spv::ExecutionModel::Geometry:
      return "geometry";
    case spv::ExecutionModel::Fragment:
      return "fragment";
    case spv::ExecutionModel::GLCompute:
      return "compute";
    default:
      return fmt::format("execution model {}", model);
  }
}

std::string Quoted(std::string_view name) {
  return fmt::format("'{}'", Shorten(name, limits::kNameBytes));
}

// "'main' (vertex), 'shade' (fragment)".
std::string ListOf(const std::vector<EntryPoint>& entries) {
  std::vector<std::string> texts;
  for (const EntryPoint& entry : entries) {
    if (texts.size() == kEntryPointsShown) {
      texts.push_back(
          fmt::format("and {} more", entries.size() - texts.size()));
      break;
    }
    texts.push_back(fmt::format("{} ({})", Quoted(entry.name),
                                ModelName(entry.execution_model)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string NameOf(const DeclaredConstant& constant) {
  return constant.name.empty()
             ? "of no name"
             : fmt::format("`{}`", Shorten(constant.name, limits::kNameBytes));
}

std::string TwoOf(uint32_t id, std::string_view what, std::string_view first,
                  std::string_view second, std::string_view advice) {
  return fmt::format("constant_id {} has two {}: {} and {}; {}", id, what,
                     first, second, advice);
}

// The one of no name is what `layout(local_size_x_id = 1)` makes: a uint whose
// default is the size beside it, or 1.
std::string AdviceFor(uint32_t id, const DeclaredConstant& first,
                      const DeclaredConstant& second) {
  if (first.name.empty() == second.name.empty()) {
    return "give each constant an id of its own";
  }
  const DeclaredConstant& named = first.name.empty() ? second : first;
  if (named.type != ConstantType::kUint32) {
    return fmt::format(
        "the one of no name is a workgroup size (local_size_x_id = {}); "
        "declare {} as a uint to have both one value",
        id, NameOf(named));
  }
  const std::string value = FormatConstant(named.type, named.default_value);
  return fmt::format(
      "the one of no name is a workgroup size; write its default beside it, as "
      "in layout(local_size_x = {}, local_size_x_id = {})",
      value, id);
}

// What makes two constants of one id two; empty: nothing.
std::string DifferenceOf(uint32_t id, const DeclaredConstant& first,
                         const DeclaredConstant& second) {
  auto with_name = [](std::string_view text, const DeclaredConstant& constant) {
    return fmt::format("{} {}", text, NameOf(constant));
  };
  const std::string advice = AdviceFor(id, first, second);
  if (first.type != second.type) {
    return TwoOf(id, "types", with_name(ConstantTypeName(first.type), first),
                 with_name(ConstantTypeName(second.type), second), advice);
  }
  if (first.default_value != second.default_value) {
    return TwoOf(
        id, "defaults",
        with_name(FormatConstant(first.type, first.default_value), first),
        with_name(FormatConstant(second.type, second.default_value), second),
        advice);
  }
  if (!first.name.empty() && !second.name.empty() &&
      first.name != second.name) {
    return TwoOf(id, "names", NameOf(first), NameOf(second), advice);
  }
  return "";
}

}  // namespace

std::vector<EntryPoint> EntryPointsOf(std::span<const uint32_t> spirv) {
  std::vector<EntryPoint> entries;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    if (OpOf(instruction) == spv::Op::OpEntryPoint) {
      entries.push_back({instruction.word(1), instruction.word(2),
                         LiteralText(instruction, 3)});
    }
  });
  return entries;
}

uint32_t ExecutionModelOf(Stage stage) {
  auto number = [](spv::ExecutionModel model) {
    return static_cast<uint32_t>(model);
  };
  switch (stage) {
    case Stage::kVertex:
      return number(spv::ExecutionModel::Vertex);
    case Stage::kFragment:
      return number(spv::ExecutionModel::Fragment);
    case Stage::kCompute:
      break;
  }
  return number(spv::ExecutionModel::GLCompute);
}

absl::Status CheckEntryPoint(std::span<const uint32_t> spirv, Stage stage,
                             std::string_view entry) {
  const std::vector<EntryPoint> entries = EntryPointsOf(spirv);
  std::vector<EntryPoint> others;
  for (const EntryPoint& found : entries) {
    if (found.name != entry) {
      continue;
    }
    if (found.execution_model == ExecutionModelOf(stage)) {
      return absl::OkStatus();
    }
    others.push_back(found);
  }
  if (!others.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("stage mismatch: entry point {} is a {} one, and the "
                    "program uses it as its {} stage",
                    Quoted(entry), ModelName(others.front().execution_model),
                    StageName(stage)));
  }
  return absl::InvalidArgumentError(fmt::format(
      "entry point missing: there is no {} for the {} stage; the module has {}",
      Quoted(entry), StageName(stage),
      entries.empty() ? "none" : ListOf(entries)));
}

absl::Status CheckLocations(std::span<const uint32_t> spirv) {
  const absl::StatusOr<ModuleConstants> constants =
      ModuleConstants::Parse(spirv);
  if (!constants.ok()) {
    return absl::OkStatus();  // the validator's business
  }
  const ModuleSizes sizes(spirv, *constants);
  for (const ModuleVariable& variable : sizes.variables()) {
    const auto storage = static_cast<spv::StorageClass>(variable.storage_class);
    const uint64_t components = sizes.SizeOf(variable.type).components;
    if ((storage == spv::StorageClass::Input ||
         storage == spv::StorageClass::Output) &&
        components > kInterfaceComponents) {
      return absl::InvalidArgumentError(fmt::format(
          "`{}` has {} components, over the limit of {} of an input or output",
          Shorten(constants->NameOf(variable.result), limits::kNameBytes),
          components, kInterfaceComponents));
    }
  }
  return absl::OkStatus();
}

std::optional<ConstantIdFault> FindConstantIdFault(
    std::span<const uint32_t> spirv) {
  const absl::StatusOr<ModuleConstants> constants =
      ModuleConstants::Parse(spirv);
  if (!constants.ok()) {
    return std::nullopt;  // the validator's business
  }
  std::map<uint32_t, DeclaredConstant> by_id;
  for (const DeclaredConstant& constant : constants->declared()) {
    if (!constant.constant_id) {
      continue;
    }
    const uint32_t id = *constant.constant_id;
    const auto [first, is_new] = by_id.try_emplace(id, constant);
    if (is_new) {
      continue;
    }
    std::string message = DifferenceOf(id, first->second, constant);
    if (!message.empty()) {
      return ConstantIdFault{id, std::move(message)};
    }
    if (first->second.name.empty()) {
      first->second.name = constant.name;
    }
  }
  return std::nullopt;
}

}  // namespace kiln::shaders
