// SPDX-License-Identifier: Apache-2.0
#include "shaders/compiler.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <shaderc/shaderc.h>
#include <spirv-tools/libspirv.hpp>

#include "proto/limits.h"
#include "proto/spirv_view.h"
#include "proto/text.h"
#include "shaders/contraction.h"
#include "shaders/diagnostics.h"
#include "shaders/front_end.h"
#include "shaders/module_rules.h"

namespace kiln::shaders {
namespace {

// Raised when the front ends set other options, or hold modules to other rules,
// so that modules of an older build are not taken for those of this one.
constexpr int kOptionsRevision = 3;

const StageSource* FindStage(const Program& program, Stage stage) {
  for (const StageSource& source : program.stages) {
    if (source.stage == stage) {
      return &source;
    }
  }
  return nullptr;
}

// A copy, when there is a mark to leave out: whoever looks for the first
// directive of a file must not find one.
std::optional<Program> WithoutByteOrderMarks(const Program& program) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  auto has_mark = [&](const SourceFile& file) {
    return file.text.starts_with(kMark);
  };
  if (std::ranges::none_of(program.files, has_mark)) {
    return std::nullopt;
  }
  Program copy = program;
  for (SourceFile& file : copy.files) {
    file.text.erase(0, has_mark(file) ? kMark.size() : 0);
  }
  return copy;
}

// `text` with every run of blanks and line ends made one blank.
std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  return line;
}

std::string_view MessageOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

StageResult Failure(std::string_view diagnostics) {
  return {{}, CapDiagnostics(diagnostics)};
}

// What is wrong with a module that compiled; empty: nothing.
std::string FaultOf(const Program& program, const StageSource& source,
                    const CompileOptions& options,
                    std::span<const uint32_t> spirv) {
  if (!options.debug_lines && spirv.size_bytes() > limits::kModuleBytes) {
    return ErrorAt(
        source.path, 1,
        fmt::format("the module has {} bytes, over the limit of {}; look for "
                    "large constant arrays",
                    spirv.size_bytes(), limits::kModuleBytes));
  }
  if (const absl::Status fit = CheckLocations(spirv); !fit.ok()) {
    return ErrorAt(source.path, 1, MessageOf(fit));
  }
  if (const absl::Status valid = ValidateModule(spirv); !valid.ok()) {
    return FrontEndFor(source.language)
        .ExplainInvalid(program, source, MessageOf(valid));
  }
  if (const absl::Status entry =
          CheckEntryPoint(spirv, source.stage, source.entry);
      !entry.ok()) {
    return ErrorAt(source.path, 1, MessageOf(entry));
  }
  const std::optional<ConstantIdFault> fault = FindConstantIdFault(spirv);
  return fault ? ErrorAtConstantId(program, source, fault->id, fault->message)
               : std::string();
}

}  // namespace

const FrontEnd& FrontEndFor(Language language) {
  switch (language) {
    case Language::kHlsl:
      return HlslFrontEnd();
    case Language::kSpirv:
      return SpirvFrontEnd();
    case Language::kGlsl:
      break;
  }
  return GlslFrontEnd();
}

StageResult CompileStage(const Program& program, Stage stage,
                         const CompileOptions& options) {
  if (const std::optional<Program> clean = WithoutByteOrderMarks(program)) {
    return CompileStage(*clean, stage, options);
  }
  const StageSource* source = FindStage(program, stage);
  if (source == nullptr) {
    return Failure(fmt::format("program {} has no {} stage", program.name,
                               StageName(stage)));
  }
  if (program.FindFile(source->path) == nullptr) {
    return Failure(ErrorAt(source->path, 1, "there is no such file"));
  }
  StageResult made =
      FrontEndFor(source->language).Compile(program, *source, options);
  if (!made.ok()) {
    return Failure(made.diagnostics);
  }
  if (const std::string fault = FaultOf(program, *source, options, made.spirv);
      !fault.empty()) {
    return Failure(made.diagnostics + fault);
  }
  return {program.no_contraction ? ForbidContraction(made.spirv)
                                 : std::move(made.spirv),
          CapDiagnostics(made.diagnostics)};
}

absl::Status ValidateModule(std::span<const uint32_t> spirv) {
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  std::string text;
  tools.SetMessageConsumer([&](spv_message_level_t level, const char*,
                               const spv_position_t&, const char* message) {
    if (level <= SPV_MSG_ERROR && text.empty()) {
      text = OneLine(message);
    }
  });
  if (tools.Validate(spirv.data(), spirv.size())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      text.empty() ? "the validator refused the module without a message"
                   : Shorten(text, limits::kStatusTextBytes));
}

std::set<uint32_t> SpecializationIds(std::span<const uint32_t> spirv) {
  std::set<uint32_t> ids;
  for (const auto& [id, result] : SpecializationResults(spirv)) {
    ids.insert(id);
  }
  return ids;
}

std::string CompilerVersion() {
  unsigned int version = 0;
  unsigned int revision = 0;
  shaderc_get_spv_version(&version, &revision);
  return ToValidUtf8(
      fmt::format("shaderc {} glslang {} (SPIR-V {}.{}.{}), {}, options {}",
                  KILN_SHADERC_PACKAGE, KILN_GLSLANG_PACKAGE,
                  (version >> 16) & 0xFF, (version >> 8) & 0xFF, revision,
                  spvSoftwareVersionDetailsString(), kOptionsRevision));
}

}  // namespace kiln::shaders
