// SPDX-License-Identifier: Apache-2.0

// Of surface_rules.h, what is no rule about a text: the shader around it, what
// that says of its slot, and what a text names.

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/text.h"
#include "shaders/sources/compiler_text.h"
#include "shaders/surface/surface_parameters.h"
#include "shaders/surface/surface_rules.h"
#include "shaders/surface/tokens.h"

namespace kiln::surface {
namespace {

constexpr size_t kShownNameBytes = 60;  // in a message

}  // namespace

SurfaceContext ContextOf(const Program& program) {
  SurfaceContext context;
  std::set<std::string_view> modules;
  for (const StageSource& stage : program.stages) {
    if (stage.language == Language::kSpirv) {
      modules.insert(stage.path);
    } else {
      context.language = stage.language;
    }
  }
  // Defines reach the compiler as lines of this form.
  std::string defines;
  for (const Define& define : program.defines) {
    defines += fmt::format("#define {} {}\n", define.name, define.value);
  }
  std::vector<MacroDefinition> macros = ReadMacros(Tokenize(defines));
  for (const SourceFile& file : program.files) {
    if (!modules.contains(file.path)) {
      // Lines must end here where they end for the compiler.
      const std::string text = sources::TextForCompiler(file.text);
      std::ranges::move(ReadMacros(Tokenize(text)), std::back_inserter(macros));
    }
  }
  context.macros = FactsOf(macros, {});
  return context;
}

absl::Status CheckSlot(const SurfaceSlot& slot) {
  if (!IsIdentifier(slot.function) || IsRefusedWord(slot.function) ||
      slot.function.starts_with("gl_") ||
      slot.function.size() > limits::kNameBytes) {
    return absl::InvalidArgumentError(
        fmt::format("surface.function: {} cannot name a function",
                    QuoteName(slot.function)));
  }
  return ParameterNames(slot.parameters).status();
}

absl::Status CheckSurfaceName(std::string_view name) {
  const bool has_control = std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (name.empty() || name.size() > limits::kNameBytes || has_control ||
      !IsValidUtf8(name)) {
    return absl::InvalidArgumentError(fmt::format(
        "surface name '{}': needs 1 to {} bytes of UTF-8 on one line",
        Shorten(name, kShownNameBytes), limits::kNameBytes));
  }
  return absl::OkStatus();
}

std::vector<SurfaceInclude> IncludesOf(std::string_view text) {
  std::vector<SurfaceInclude> includes;
  const TokenizedText tokens = Tokenize(text);
  for (const Directive& directive : tokens.directives) {
    if (directive.kind != DirectiveKind::kInclude ||
        directive.first >= directive.last) {
      continue;
    }
    const std::string_view header = tokens.tokens[directive.first].text;
    if (header.size() > 2) {
      includes.push_back({header.substr(1, header.size() - 2), header[0] == '<',
                          directive.line});
    }
  }
  return includes;
}

}  // namespace kiln::surface
