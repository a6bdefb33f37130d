// SPDX-License-Identifier: Apache-2.0
#include "client/cli/interface_text.h"

#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cli/variant_json.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

json VariablesJson(const std::vector<InterfaceVariable>& variables) {
  json list = json::array();
  for (const InterfaceVariable& variable : variables) {
    list.push_back({{"name", variable.name},
                    {"location", variable.location},
                    {"component", variable.component},
                    {"type", variable.type},
                    {"count", variable.count}});
  }
  return list;
}

// "[4]" for arrays.
std::string CountText(uint32_t count) {
  if (count == 1) {
    return "";
  }
  return count == 0 ? "[]" : fmt::format("[{}]", count);
}

// Stripped modules have no names.
std::string NameText(const std::string& name) {
  return name.empty() ? "" : " " + name;
}

class Lines {
 public:
  // The lines that follow are below it.
  void Heading(std::string_view heading) { heading_ = heading; }

  void Add(const std::string& line) {
    if (!heading_.empty()) {
      Append(fmt::format("  {}", heading_));
      heading_ = "";
    }
    Append(fmt::format("    {}", line));
  }

  void Append(const std::string& line) {
    text_ += (text_.empty() ? "" : "\n") + line;
  }

  const std::string& text() const { return text_; }

 private:
  std::string_view heading_;
  std::string text_;
};

void AddVariables(Lines& lines, std::string_view heading,
                  const std::vector<InterfaceVariable>& variables) {
  lines.Heading(heading);
  for (const InterfaceVariable& variable : variables) {
    lines.Add(fmt::format(
        "location {}{}: {}{}{}", variable.location,
        variable.component == 0
            ? ""
            : fmt::format(" component {}", variable.component),
        variable.type, NameText(variable.name), CountText(variable.count)));
  }
}

void AddWorkgroupSize(Lines& lines, const ModuleInterface& interface) {
  const auto& size = interface.workgroup_size;
  std::string text =
      fmt::format("  workgroup size {}x{}x{}", size[0], size[1], size[2]);
  for (size_t i = 0; i < size.size(); ++i) {
    if (interface.workgroup_size_ids[i].has_value()) {
      text += fmt::format(", {} by constant {}", "xyz"[i],
                          *interface.workgroup_size_ids[i]);
    }
  }
  lines.Append(text);
}

}  // namespace

json InterfaceJson(const ModuleInterface& interface, bool is_compute) {
  json object = {{"entry", interface.entry_point},
                 {"bindings", json::array()},
                 {"push_constants", json::array()},
                 {"constants", json::array()},
                 {"inputs", VariablesJson(interface.inputs)},
                 {"outputs", VariablesJson(interface.outputs)}};
  for (const InterfaceBinding& binding : interface.bindings) {
    object["bindings"].push_back({{"name", binding.name},
                                  {"set", binding.set},
                                  {"binding", binding.binding},
                                  {"type", binding.type},
                                  {"count", binding.count}});
  }
  for (const PushConstantMember& member : interface.push_constants) {
    object["push_constants"].push_back({{"name", member.name},
                                        {"offset", member.offset_bytes},
                                        {"bytes", member.size_bytes}});
  }
  for (const InterfaceConstant& constant : interface.constants) {
    object["constants"].push_back(
        {{"id", constant.id},
         {"name", constant.name},
         {"type", ConstantTypeName(constant.type)},
         {"default", ConstantJson(constant.type, constant.default_value)},
         {"used", constant.used}});
  }
  if (is_compute) {
    object["workgroup_size"] = interface.workgroup_size;
    object["workgroup_size_ids"] = json::array();
    for (const std::optional<uint32_t>& id : interface.workgroup_size_ids) {
      object["workgroup_size_ids"].push_back(id ? json(*id) : json());
    }
  }
  return object;
}

std::string InterfaceText(const ModuleInterface& interface, bool is_compute) {
  Lines lines;
  if (is_compute) {
    AddWorkgroupSize(lines, interface);
  }
  lines.Heading("bindings");
  for (const InterfaceBinding& binding : interface.bindings) {
    lines.Add(fmt::format("set {} binding {}: {}{}{}", binding.set,
                          binding.binding, binding.type, NameText(binding.name),
                          CountText(binding.count)));
  }
  lines.Heading("push constants");
  for (const PushConstantMember& member : interface.push_constants) {
    lines.Add(fmt::format("offset {}: {} bytes{}", member.offset_bytes,
                          member.size_bytes, NameText(member.name)));
  }
  lines.Heading("constants");
  for (const InterfaceConstant& constant : interface.constants) {
    lines.Add(fmt::format("id {}: {}{} = {}{}", constant.id,
                          ConstantTypeName(constant.type),
                          NameText(constant.name),
                          FormatConstant(constant.type, constant.default_value),
                          constant.used ? "" : " (no code reads it)"));
  }
  AddVariables(lines, "inputs", interface.inputs);
  AddVariables(lines, "outputs", interface.outputs);
  return lines.text();
}

}  // namespace kiln::cli
