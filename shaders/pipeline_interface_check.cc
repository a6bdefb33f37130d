// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline_interface_check.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "proto/module_interface.h"
#include "proto/text.h"
#include "shaders/diagnostics.h"
#include "shaders/interface_reflection.h"
#include "shaders/module_rules.h"
#include "shaders/sources/source_hash.h"
#include "shaders/spirv_op.h"
#include "shaders/static_use.h"

namespace kiln::shaders {
namespace {

struct ServedType {
  std::string_view by;  // in the program
  std::string_view in;  // in the shader
};

// What serves descriptors of another name; each serves its own.
constexpr ServedType kServedTypes[] = {
    {"uniform_buffer_dynamic", "uniform_buffer"},
    {"inline_uniform_block", "uniform_buffer"},
    {"storage_buffer_dynamic", "storage_buffer"},
    {"combined_image_sampler", "sampled_image"},
    {"combined_image_sampler", "sampler"},
};

bool Serves(std::string_view by, std::string_view in) {
  return by == in || std::ranges::any_of(kServedTypes, [&](const auto& pair) {
           return pair.by == by && pair.in == in;
         });
}

bool HasStage(const std::vector<Stage>& stages, Stage stage) {
  return std::ranges::find(stages, stage) != stages.end();
}

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

bool HasWord(std::string_view line, std::string_view word) {
  for (size_t at = line.find(word); at != line.npos;
       at = line.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !IsNamePart(line[at - 1])) &&
        (end == line.size() || !IsNamePart(line[end]))) {
      return true;
    }
  }
  return false;
}

constexpr std::string_view kDeclaringWords[] = {
    "layout",  "register", "uniform", "buffer",
    "cbuffer", "tbuffer",  "binding", "in"};

// A line that most likely declares something of the interface.
bool DeclaresInterface(std::string_view line) {
  const size_t first = std::min(line.find_first_not_of(" \t"), line.size());
  return line.substr(first).starts_with('}') ||
         std::ranges::any_of(kDeclaringWords, [&](std::string_view word) {
           return HasWord(line, word);
         });
}

// The columns of a matrix type; 1 for others.
uint32_t ColumnsOf(std::string_view type) {
  const size_t at = type.find("mat");
  return at == type.npos || at + 3 >= type.size()
             ? 1
             : static_cast<uint32_t>(type[at + 3] - '0');
}

bool IsWide(std::string_view type) {
  return type.starts_with('d') || type.find("64") != type.npos;
}

bool IsIntegerType(std::string_view type) {
  return type.starts_with('i') || type.starts_with('u');
}

bool IsIntegerFormat(std::string_view format) {
  return format.find("_uint") != format.npos ||
         format.find("_sint") != format.npos;
}

// One module against its program. Confined to one call of PipelineFaults.
class PipelineChecker {
 public:
  PipelineChecker(const Program& program, const StageSource& source,
                  std::vector<GlobalVariable> used)
      : program_(program), source_(source), used_(std::move(used)) {}

  std::string Run(const ModuleInterface& interface) {
    for (const InterfaceBinding& binding : interface.bindings) {
      if (Uses(binding)) {
        CheckBinding(binding);
      }
    }
    CheckPushConstants(interface.push_constants);
    if (source_.stage == Stage::kVertex) {
      for (const InterfaceVariable& input : interface.inputs) {
        if (UsesInput(input.name)) {
          CheckInput(input);
        }
      }
    }
    return std::move(faults_);
  }

 private:
  // A block without an instance goes by another name in the interface.
  bool Uses(const InterfaceBinding& binding) const {
    return std::ranges::any_of(used_, [&](const GlobalVariable& variable) {
      return IsDescriptor(variable) && variable.set == binding.set &&
             variable.binding == binding.binding &&
             (variable.name.empty() || variable.name == binding.name);
    });
  }

  static bool IsDescriptor(const GlobalVariable& variable) {
    switch (static_cast<spv::StorageClass>(variable.storage_class)) {
      case spv::StorageClass::UniformConstant:
      case spv::StorageClass::Uniform:
      case spv::StorageClass::StorageBuffer:
        return true;
      default:
        return false;
    }
  }

  const GlobalVariable* UsedOf(spv::StorageClass wanted) const {
    const auto found = std::ranges::find(used_, static_cast<uint32_t>(wanted),
                                         &GlobalVariable::storage_class);
    return found == used_.end() ? nullptr : &*found;
  }

  // Members of a structure go by "variable.member".
  bool UsesInput(std::string_view name) const {
    return std::ranges::any_of(used_, [&](const GlobalVariable& variable) {
      return variable.storage_class ==
                 static_cast<uint32_t>(spv::StorageClass::Input) &&
             name.starts_with(variable.name) &&
             (variable.name.empty() || name.size() == variable.name.size() ||
              name[variable.name.size()] == '.' ||
              name[variable.name.size()] == '[');
    });
  }

  void CheckBinding(const InterfaceBinding& binding) {
    const std::string what =
        fmt::format("'{}' uses set {}, binding {}", binding.name, binding.set,
                    binding.binding);
    const auto& all = program_.pipeline.descriptors;
    const auto declared =
        std::ranges::find_if(all, [&](const Descriptor& descriptor) {
          return descriptor.set == binding.set &&
                 descriptor.binding == binding.binding;
        });
    if (declared == all.end()) {
      Fail(binding.name,
           fmt::format("{}, which the program has no [[descriptor]] for; the "
                       "shader needs a {}",
                       what, binding.type));
    } else if (!Serves(declared->type, binding.type)) {
      Fail(binding.name,
           fmt::format("{} as {}; the program's [[descriptor]] there is {}",
                       what, binding.type, declared->type));
    } else if (binding.count > declared->count) {
      Fail(binding.name,
           fmt::format("{} as an array of {}; the program's [[descriptor]] "
                       "there has {}",
                       what, binding.count, declared->count));
    } else if (!HasStage(declared->stages, source_.stage)) {
      Fail(binding.name,
           fmt::format("{}; the program's [[descriptor]] there is not for the "
                       "{} stage",
                       what, StageName(source_.stage)));
    }
  }

  void CheckPushConstants(const std::vector<PushConstantMember>& members) {
    const GlobalVariable* block = UsedOf(spv::StorageClass::PushConstant);
    if (block == nullptr || members.empty()) {
      return;
    }
    uint32_t end = 0;
    for (const PushConstantMember& member : members) {
      end = std::max(end, member.offset_bytes + member.size_bytes);
    }
    const PipelineSkeleton& pipeline = program_.pipeline;
    const std::string& name =
        block->name.empty() ? members.front().name : block->name;
    if (!HasStage(pipeline.push_constant_stages, source_.stage)) {
      Fail(name, fmt::format("'{}' is a push constant; the program's "
                             "[push_constants] are not for the {} stage",
                             name, StageName(source_.stage)));
    } else if (end > pipeline.push_constant_bytes) {
      Fail(name, fmt::format("'{}' ends at byte {} of the push constants; the "
                             "program's [push_constants] have {}",
                             name, end, pipeline.push_constant_bytes));
    }
  }

  void CheckInput(const InterfaceVariable& input) {
    if (IsWide(input.type)) {
      return;  // its locations depend on the format, too
    }
    const uint32_t locations = input.count * ColumnsOf(input.type);
    const auto& all = program_.pipeline.vertex_attributes;
    for (uint32_t i = 0; i < locations; ++i) {
      const auto attribute = std::ranges::find(all, input.location + i,
                                               &VertexAttribute::location);
      if (attribute == all.end()) {
        Fail(input.name,
             fmt::format("vertex input '{}' reads location {}, which the "
                         "program has no [[vertex_attribute]] for",
                         input.name, input.location + i));
        return;
      }
      if (IsIntegerFormat(attribute->format) != IsIntegerType(input.type)) {
        Fail(input.name,
             fmt::format("vertex input '{}' at location {} is {}; the "
                         "program's [[vertex_attribute]] there is {}",
                         input.name, input.location + i, input.type,
                         attribute->format));
        return;
      }
    }
  }

  void Fail(std::string_view name, std::string_view text) {
    if (source_.language == Language::kSpirv) {  // which has no lines
      faults_ +=
          fmt::format("{}: error: {}\n", ToValidUtf8(source_.path), text);
      return;
    }
    for (const SourceFile* file : sources::ReachedBy(program_, source_).files) {
      if (const size_t line = DeclarationLine(file->text, name); line != 0) {
        faults_ += ErrorAt(file->path, line, text);
        return;
      }
    }
    faults_ += ErrorAt(source_.path, 1, text);
  }

  // 0: there is none in that text.
  static size_t DeclarationLine(std::string_view text, std::string_view name) {
    for (size_t at = name.empty() ? text.npos : text.find(name);
         at != text.npos; at = text.find(name, at + 1)) {
      const size_t begin = text.find_last_of("\n\r", at) + 1;
      const size_t end = std::min(text.find_first_of("\n\r", at), text.size());
      const std::string_view line = text.substr(begin, end - begin);
      if (HasWord(line, name) && DeclaresInterface(line)) {
        return LineOf(text, at);
      }
    }
    return 0;
  }

  const Program& program_;
  const StageSource& source_;
  const std::vector<GlobalVariable> used_;
  std::string faults_;
};

}  // namespace

std::string PipelineFaults(const Program& program, const StageSource& source,
                           std::span<const uint32_t> spirv) {
  const std::vector<EntryPoint> entries = EntryPointsOf(spirv);
  const auto entry =
      std::ranges::find_if(entries, [&](const EntryPoint& point) {
        return point.name == source.entry &&
               point.execution_model == ExecutionModelOf(source.stage);
      });
  const absl::StatusOr<ModuleInterface> interface =
      ReflectInterface(spirv, source.stage, source.entry);
  if (entry == entries.end() || !interface.ok()) {
    return "";
  }
  return PipelineChecker(program, source,
                         StaticallyUsed(spirv, entry->function))
      .Run(*interface);
}

}  // namespace kiln::shaders
