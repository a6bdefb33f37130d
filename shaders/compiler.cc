// SPDX-License-Identifier: Apache-2.0
#include "shaders/compiler.h"

#include <cctype>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <shaderc/shaderc.hpp>
#include <spirv-tools/libspirv.hpp>

#include "proto/limits.h"
#include "proto/spirv_view.h"
#include "proto/text.h"
#include "shaders/contraction.h"
#include "shaders/includer.h"
#include "shaders/invalid_module.h"

namespace kiln::shaders {
namespace {

// Raised when this file sets other options, so that modules of an older build
// are not taken for those of this one.
constexpr int kOptionsRevision = 1;

// Owns what one shaderc_include_result points to.
struct OpenInclude {
  std::string name;
  std::string text;
  shaderc_include_result result{};

  OpenInclude(std::string_view opened_name, std::string_view opened_text)
      : name(opened_name), text(opened_text) {
    result = {name.data(), name.size(), text.data(), text.size(), this};
  }

  OpenInclude(const OpenInclude&) = delete;  // `result` points into it
  OpenInclude& operator=(const OpenInclude&) = delete;
};

// shaderc's callbacks on top of Includer. An error is a result without a name.
class ShadercIncluder : public shaderc::CompileOptions::IncluderInterface {
 public:
  ShadercIncluder(const Program& program, std::string_view root_path)
      : includer_(program, root_path) {}

  shaderc_include_result* GetInclude(const char* requested,
                                     shaderc_include_type type,
                                     const char* requesting,
                                     size_t depth) override {
    const auto form = type == shaderc_include_type_relative
                          ? Includer::Form::kQuoted
                          : Includer::Form::kAngled;
    absl::StatusOr<Includer::File> file =
        includer_.Open(requested, form, requesting, depth);
    if (file.ok()) {
      failed_.clear();
      return Release(std::make_unique<OpenInclude>(file->path, file->text));
    }
    // glslang asks for a quoted name that failed once more, in angled form, and
    // shows only the second message. The first one says more.
    if (failed_ != requested || form == Includer::Form::kQuoted) {
      failed_ = requested;
      failure_ = std::string(file.status().message());
    }
    return Release(std::make_unique<OpenInclude>("", failure_));
  }

  void ReleaseInclude(shaderc_include_result* result) override {
    delete static_cast<OpenInclude*>(result->user_data);
  }

 private:
  // ReleaseInclude deletes it.
  static shaderc_include_result* Release(std::unique_ptr<OpenInclude> open) {
    return &open.release()->result;
  }

  Includer includer_;
  std::string failed_;   // the name asked for last, if it failed
  std::string failure_;  // and why
};

shaderc_shader_kind KindOf(Stage stage) {
  switch (stage) {
    case Stage::kVertex:
      return shaderc_vertex_shader;
    case Stage::kCompute:
      return shaderc_compute_shader;
    case Stage::kFragment:
      break;
  }
  return shaderc_fragment_shader;
}

shaderc::SpvCompilationResult RunCompiler(const Program& program,
                                          const StageSource& source,
                                          const CompileOptions& wanted) {
  // Built once: it starts glslang's symbol tables, 65 ms. Const use of it is
  // thread-safe (glslang holds a lock of its own).
  static const shaderc::Compiler* const compiler = new shaderc::Compiler();
  shaderc::CompileOptions options;
  options.SetSourceLanguage(shaderc_source_language_glsl);
  options.SetOptimizationLevel(shaderc_optimization_level_zero);
  options.SetTargetEnvironment(shaderc_target_env_vulkan,
                               shaderc_env_version_vulkan_1_3);
  options.SetIncluder(std::make_unique<ShadercIncluder>(program, source.path));
  if (wanted.debug_lines) {
    options.SetGenerateDebugInfo();
  }
  for (const Define& define : program.defines) {
    options.AddMacroDefinition(define.name, define.value);
  }
  const SourceFile* file = program.FindFile(source.path);
  const std::string_view text =
      file == nullptr ? std::string_view() : file->text;
  return compiler->CompileGlslToSpv(text.data(), text.size(),
                                    KindOf(source.stage), source.path.c_str(),
                                    "main", options);
}

// Why the module of a source without errors is invalid, in the source's terms
// where that is known. Compiles again, with debug lines.
std::string ExplainInvalidModule(const Program& program,
                                 const StageSource& source,
                                 std::string_view validator_message) {
  const shaderc::SpvCompilationResult result =
      RunCompiler(program, source, {.debug_lines = true});
  std::string text;
  for (const LogicalConstantFault& fault :
       FindLogicalConstantFaults({result.begin(), result.end()})) {
    text += DescribeFault(program, fault) + "\n";
  }
  return text + fmt::format("{}: error: the compiler made invalid SPIR-V: {}\n",
                            source.path, validator_message);
}

const StageSource* FindStage(const Program& program, Stage stage) {
  for (const StageSource& source : program.stages) {
    if (source.stage == stage) {
      return &source;
    }
  }
  return nullptr;
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

StageResult Failure(std::string_view diagnostics) {
  return {{}, CapDiagnostics(diagnostics)};
}

}  // namespace

StageResult CompileStage(const Program& program, Stage stage,
                         const CompileOptions& options) {
  const StageSource* source = FindStage(program, stage);
  if (source == nullptr) {
    return Failure(fmt::format("program {} has no {} stage", program.name,
                               StageName(stage)));
  }
  const shaderc::SpvCompilationResult result =
      RunCompiler(program, *source, options);
  const std::string messages = result.GetErrorMessage();
  const std::span<const uint32_t> spirv(result.begin(), result.end());
  if (result.GetCompilationStatus() != shaderc_compilation_status_success ||
      spirv.empty()) {
    return Failure(
        messages.empty()
            ? fmt::format("{}: error: the compiler failed without a message",
                          source->path)
            : messages);
  }
  if (!options.debug_lines && spirv.size_bytes() > limits::kModuleBytes) {
    return Failure(
        fmt::format("{}: error: the module has {} bytes, over the limit of {}; "
                    "look for large constant arrays",
                    source->path, spirv.size_bytes(), limits::kModuleBytes));
  }
  if (absl::Status valid = ValidateModule(spirv); !valid.ok()) {
    const std::string_view why(valid.message().data(), valid.message().size());
    return Failure(messages + ExplainInvalidModule(program, *source, why));
  }
  return {program.no_contraction
              ? ForbidContraction(spirv)
              : std::vector<uint32_t>(spirv.begin(), spirv.end()),
          CapDiagnostics(messages)};
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
