// SPDX-License-Identifier: Apache-2.0
#include "shaders/lint.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "proto/text.h"
#include "shaders/compiler.h"
#include "shaders/compiler_names.h"
#include "shaders/lint/module.h"
#include "shaders/lint/rules.h"
#include "shaders/sources/compiler_text.h"

namespace kiln::shaders {
namespace {

void SortUnique(std::vector<LintFinding>& findings) {
  std::ranges::sort(findings, {}, [](const LintFinding& finding) {
    return std::tie(finding.file, finding.line, finding.rule, finding.symbol,
                    finding.message);
  });
  findings.erase(std::unique(findings.begin(), findings.end()), findings.end());
}

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The identifiers of `text` that an index follows: "a" of "a[i]", but not the
// type of "float[2](x, y)".
std::set<std::string_view> IndexedNames(std::string_view text) {
  std::set<std::string_view> names;
  for (size_t at = text.find('['); at != text.npos;
       at = text.find('[', at + 1)) {
    size_t start = at;
    while (start > 0 && IsWordCharacter(text[start - 1])) {
      --start;
    }
    const size_t end = text.find(']', at);
    const bool constructs =
        end != text.npos && end + 1 < text.size() && text[end + 1] == '(';
    if (start < at && !constructs) {
      names.insert(text.substr(start, at - start));
    }
  }
  return names;
}

std::string_view Line(std::string_view text, uint32_t number) {
  for (; number > 1; --number) {
    const size_t end = text.find('\n');
    if (end == text.npos) {
      return {};
    }
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// Constant tables lose their names on the way to SPIR-V. Names the finding by
// the only thing its line indexes, where that is unambiguous.
void NameFromSource(const Program& program, LintFinding& finding) {
  const SourceFile* file = program.FindFile(finding.file);
  if (file == nullptr || !finding.message.starts_with(lint::kUnnamedTable)) {
    return;
  }
  const std::string text = sources::TextForCompiler(file->text);
  const std::set<std::string_view> names =
      IndexedNames(Line(text, finding.line));
  if (names.size() == 1) {
    finding.symbol = *names.begin();
    finding.message.replace(
        0, lint::kUnnamedTable.size(),
        fmt::format("a copy of constant array '{}'", finding.symbol));
  }
}

std::string_view FirstLine(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string_view RuleName(LintRule rule) {
  return rule == LintRule::kDynamicLocalArray ? "dynamic-local-array"
                                              : "struct-array-across-loops";
}

std::vector<LintFinding> LintModule(std::span<const uint32_t> spirv) {
  const lint::Module module(spirv);
  std::vector<LintFinding> findings = lint::FindDynamicArrays(module);
  std::ranges::move(lint::FindStructArraysAcrossLoops(module),
                    std::back_inserter(findings));
  for (LintFinding& finding : findings) {
    finding.file = ToValidUtf8(finding.file);
    finding.symbol = ToValidUtf8(finding.symbol);
    finding.message = ToValidUtf8(finding.message);
  }
  SortUnique(findings);
  return findings;
}

absl::StatusOr<std::vector<LintFinding>> LintProgram(const Program& program) {
  std::vector<LintFinding> findings;
  for (const StageSource& source : program.stages) {
    const StageResult result =
        CompileStage(program, source.stage, {.debug_lines = true});
    if (!result.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("{}", FirstLine(result.diagnostics)));
    }
    std::ranges::move(LintModule(result.spirv), std::back_inserter(findings));
  }
  const CompilerNames names(program);
  for (LintFinding& finding : findings) {
    finding.file = names.PathOf(finding.file);
    NameFromSource(program, finding);
  }
  SortUnique(findings);
  return findings;
}

}  // namespace kiln::shaders
