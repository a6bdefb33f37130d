// SPDX-License-Identifier: Apache-2.0

// GLSL and HLSL through libshaderc.
//
// What shaderc makes of HLSL: the entry point keeps the name of its function;
// one that is not there is a warning only, and a module that does nothing. The
// module has been legalised, so names are there but a constant that no code
// reads is not. Registers are bindings (`register(t3, space1)` is set 1,
// binding 3) without regard to their letter; what names none gets a free
// binding of set 0. Its buffers exist up to SPIR-V 1.3 only, which is therefore
// what it is asked for.

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <shaderc/shaderc.hpp>

#include "proto/limits.h"
#include "proto/spirv_view.h"
#include "proto/text.h"
#include "shaders/compiler_names.h"
#include "shaders/diagnostics.h"
#include "shaders/front_end.h"
#include "shaders/invalid_module.h"
#include "shaders/sources/compiler_text.h"
#include "shaders/sources/includer.h"
#include "shaders/sources/source_text.h"

namespace kiln::shaders {
namespace {

// An instruction has its size in 16 bits.
constexpr ptrdiff_t kInstructionWords = 65535;

// Owns what one shaderc_include_result points to.
struct OpenInclude {
  std::string name;
  std::string text;
  shaderc_include_result result{};

  OpenInclude(std::string opened_name, std::string opened_text)
      : name(std::move(opened_name)), text(std::move(opened_text)) {
    result = {name.data(), name.size(), text.data(), text.size(), this};
  }

  OpenInclude(const OpenInclude&) = delete;  // `result` points into it
  OpenInclude& operator=(const OpenInclude&) = delete;
};

std::string_view ToView(absl::string_view text) {
  return {text.data(), text.size()};
}

bool IsSpirv(std::string_view text) {
  uint32_t word = 0;
  if (text.size() < sizeof(word)) {
    return false;
  }
  std::memcpy(&word, text.data(), sizeof(word));
  return word == kSpirvMagic || __builtin_bswap32(word) == kSpirvMagic;
}

// Errors: InvalidArgument "path:line: error: text" for what is no text.
absl::Status CheckText(std::string_view path, std::string_view text) {
  const absl::Status plain =
      sources::PrepareSource(std::string(text), Language::kGlsl).status();
  if (plain.ok()) {
    return plain;
  }
  if (IsSpirv(text)) {
    return absl::InvalidArgumentError(
        ErrorAt(path, 1, "this is SPIR-V; the stage's language must say so"));
  }
  const size_t nul = std::min(text.find('\0'), text.size());
  const bool utf16 =
      text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  return absl::InvalidArgumentError(
      ErrorAt(path, utf16 ? 1 : LineOf(text, nul),
              fmt::format("the file {}", ToView(plain.message()))));
}

// shaderc's callbacks on top of Includer. An error is a result without a name.
class ShadercIncluder : public shaderc::CompileOptions::IncluderInterface {
 public:
  ShadercIncluder(const Program& program, std::string_view root_path,
                  const CompilerNames& names)
      : includer_(program, root_path), names_(names) {}

  shaderc_include_result* GetInclude(const char* requested,
                                     shaderc_include_type type,
                                     const char* /*requesting*/,
                                     size_t depth) override {
    const auto form = type == shaderc_include_type_relative
                          ? sources::IncludeForm::kQuoted
                          : sources::IncludeForm::kAngled;
    const absl::StatusOr<sources::Includer::File> file =
        includer_.Open(requested, form, depth);
    absl::Status status = file.status();
    if (status.ok()) {
      status = CheckText(file->path, file->text);
    }
    if (status.ok()) {
      return Release(std::make_unique<OpenInclude>(
          names_.Of(file->path), sources::TextForCompiler(file->text)));
    }
    std::string error(ToView(status.message()));
    if (error.ends_with('\n')) {
      error.pop_back();  // the compiler goes on in the same line
    }
    return Release(std::make_unique<OpenInclude>("", std::move(error)));
  }

  void ReleaseInclude(shaderc_include_result* result) override {
    delete static_cast<OpenInclude*>(result->user_data);
  }

 private:
  // ReleaseInclude deletes it.
  static shaderc_include_result* Release(std::unique_ptr<OpenInclude> open) {
    return &open.release()->result;
  }

  sources::Includer includer_;
  const CompilerNames& names_;
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

// Of this thread. The first one is kept for ever: with the last one goes what
// glslang has set up, which takes 65 ms to make again.
const shaderc::Compiler& ThreadCompiler() {
  static const shaderc::Compiler* const first = new shaderc::Compiler();
  thread_local const shaderc::Compiler own;
  return own.IsValid() ? own : *first;
}

shaderc::SpvCompilationResult RunCompiler(const Program& program,
                                          const StageSource& source,
                                          const CompilerNames& names,
                                          const CompileOptions& wanted) {
  shaderc::CompileOptions options;
  options.SetOptimizationLevel(shaderc_optimization_level_zero);
  options.SetTargetEnvironment(shaderc_target_env_vulkan,
                               shaderc_env_version_vulkan_1_3);
  options.SetIncluder(
      std::make_unique<ShadercIncluder>(program, source.path, names));
  options.SetSourceLanguage(shaderc_source_language_glsl);
  if (source.language == Language::kHlsl) {
    options.SetSourceLanguage(shaderc_source_language_hlsl);
    options.SetTargetSpirv(shaderc_spirv_version_1_3);
    options.SetAutoBindUniforms(true);
  }
  if (wanted.debug_lines) {
    options.SetGenerateDebugInfo();
  }
  for (const Define& define : program.defines) {
    options.AddMacroDefinition(define.name, define.value);
  }
  const std::string text =
      sources::TextForCompiler(program.FindFile(source.path)->text);
  return ThreadCompiler().CompileGlslToSpv(
      text.data(), text.size(), KindOf(source.stage),
      names.Of(source.path).c_str(), source.entry.c_str(), options);
}

StageResult Failure(std::string diagnostics) {
  return {{}, std::move(diagnostics)};
}

class ShadercFrontEnd final : public FrontEnd {
 public:
  StageResult Compile(const Program& program, const StageSource& source,
                      const CompileOptions& options) const override {
    if (source.language == Language::kGlsl && source.entry != "main") {
      return Failure(ErrorAt(
          source.path, 1,
          fmt::format("entry point missing: in GLSL it is main, and the "
                      "program names '{}'",
                      Shorten(source.entry, limits::kNameBytes))));
    }
    if (const absl::Status text =
            CheckText(source.path, program.FindFile(source.path)->text);
        !text.ok()) {
      return Failure(std::string(ToView(text.message())));
    }
    const CompilerNames names(program);
    const shaderc::SpvCompilationResult result =
        RunCompiler(program, source, names, options);
    std::string messages =
        TidyDiagnostics(program, source, names, result.GetErrorMessage());
    if (messages.find(" stage: Entry point not found") != messages.npos) {
      return Failure(
          ErrorAt(source.path, 1,
                  fmt::format("entry point missing: there is no function '{}'",
                              Shorten(source.entry, limits::kNameBytes))));
    }
    if (result.GetCompilationStatus() != shaderc_compilation_status_success ||
        result.begin() == result.end()) {
      return Failure(messages.find(": error: ") == messages.npos
                         ? messages + Silent(source)
                         : std::move(messages));
    }
    return {{result.begin(), result.end()}, std::move(messages)};
  }

  // Compiles again, with debug lines.
  std::string ExplainInvalid(const Program& program, const StageSource& source,
                             std::string_view message) const override {
    const CompilerNames names(program);
    const shaderc::SpvCompilationResult result =
        RunCompiler(program, source, names, {.debug_lines = true});
    std::string text;
    for (LogicalConstantFault& fault :
         FindLogicalConstantFaults({result.begin(), result.end()})) {
      fault.file = names.PathOf(fault.file);
      text += DescribeFault(program, fault) + "\n";
    }
    text +=
        ErrorAt(source.path, 1,
                fmt::format("the compiler made invalid SPIR-V: {}", message));
    // Then glslang has wrapped the count, and the rest is read as anything.
    if (result.end() - result.begin() > kInstructionWords) {
      text += fmt::format(
          "{}:1: note: a constant array of {} elements and more does not fit "
          "one SPIR-V instruction; split large tables, or put them in a "
          "buffer\n",
          source.path, kInstructionWords - 2);
    }
    return text;
  }

 private:
  // It catches every exception and says nothing; in practice bad_alloc.
  static std::string Silent(const StageSource& source) {
    return ErrorAt(source.path, 1,
                   "the compiler ended without a message; most likely it ran "
                   "out of memory: look for macros that expand to very much "
                   "text");
  }
};

}  // namespace

const FrontEnd& GlslFrontEnd() {
  static const ShadercFrontEnd front_end;
  return front_end;
}

const FrontEnd& HlslFrontEnd() {
  return GlslFrontEnd();
}

}  // namespace kiln::shaders
