// SPDX-License-Identifier: Apache-2.0

// Rule dynamic-local-array. One statement at a time: an access chain into
// memory of the invocation's own whose index of an array, or of a matrix (an
// array of columns to every driver), is not a constant.

#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shaders/lint/loops.h"
#include "shaders/lint/pointers.h"
#include "shaders/lint/rules.h"

namespace kiln::shaders::lint {
namespace {

using spv::Op;

// No source has so many places; a module that was made to has.
constexpr size_t kMostFindings = 1000;

class FunctionCheck {
 public:
  FunctionCheck(const Module& module, const Function& function)
      : module_(module),
        function_(function),
        loops_(module, function),
        chains_(LocalChains(module, function)) {}

  void Run(std::vector<LintFinding>& findings) const {
    uint32_t label = 0;
    for (const Statement& statement : function_.statements) {
      if (statement.op() == Op::OpLabel) {
        label = statement.word(1);
      }
      const auto chain = chains_.find(statement.word(2));
      if ((statement.op() != Op::OpAccessChain &&
           statement.op() != Op::OpInBoundsAccessChain) ||
          chain == chains_.end()) {
        continue;
      }
      if (findings.size() >= kMostFindings) {
        return;
      }
      if (auto finding = Check(chain->second, loops_.LoopOfBlock(label))) {
        finding->file = module_.FileName(statement.place);
        finding->line = statement.place.line;
        findings.push_back(*std::move(finding));
      }
    }
  }

 private:
  // The steps of the chain's base were checked where it was made.
  std::optional<LintFinding> Check(const Pointer& pointer, int loop) const {
    const size_t size = pointer.steps.size();
    for (size_t i = size - pointer.own_steps; i < size; ++i) {
      const Step& step = pointer.steps[i];
      const Type* type = module_.FindType(step.container);
      if (!type->IsArray() && type->op != Op::OpTypeMatrix) {
        continue;
      }
      const IndexKind kind = loops_.KindOfIndex(step.index, loop);
      if (kind == IndexKind::kUnrolled) {
        continue;
      }
      LintFinding finding;
      finding.rule = LintRule::kDynamicLocalArray;
      finding.symbol = SourceName(module_, function_, pointer, i);
      finding.message = fmt::format(
          "{} is indexed by {}", Describe(*type, pointer.root, finding.symbol),
          kind == IndexKind::kCounter
              ? "the counter of a loop that is not marked [[unroll]]; mark the "
                "loop, or keep the elements in variables of their own"
              : "a value that is not constant, so it lies in memory instead of "
                "registers; keep it in a buffer, or select among variables");
      return finding;
    }
    return std::nullopt;
  }

  std::string Describe(const Type& type, uint32_t root,
                       const std::string& symbol) const {
    const Statement* variable = function_.Definition(root);
    const bool constant = variable != nullptr &&
                          variable->op() == Op::OpVariable &&
                          variable->instruction.words.size() > 4;
    if (symbol.empty()) {
      return std::string(constant ? kUnnamedTable : "a local array");
    }
    const std::string_view what = type.op == Op::OpTypeMatrix
                                      ? "a column of local matrix"
                                  : constant ? "a copy of constant array"
                                             : "local array";
    return fmt::format("{} '{}'", what, symbol);
  }

  const Module& module_;
  const Function& function_;
  const LoopNest loops_;
  const std::map<uint32_t, Pointer> chains_;
};

}  // namespace

std::vector<LintFinding> FindDynamicArrays(const Module& module) {
  std::vector<LintFinding> findings;
  for (const Function& function : module.functions()) {
    FunctionCheck(module, function).Run(findings);
  }
  return findings;
}

}  // namespace kiln::shaders::lint
