// SPDX-License-Identifier: Apache-2.0
#include "shaders/invalid_module.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <spirv/unified1/spirv.hpp11>

#include "proto/spirv_view.h"
#include "shaders/sources/compiler_text.h"
#include "shaders/spirv_op.h"

namespace kiln::shaders {
namespace {

struct Place {
  uint32_t file = 0;  // id of an OpString
  uint32_t line = 0;
};

// A two-way OpPhi that glslang made for `&&` or `||`.
struct Choice {
  uint32_t function = 0;
  Place place;
  bool is_or = false;
  bool misplaced =
      false;  // its branch is in no block, or its value used elsewhere
};

bool IsTerminator(spv::Op op) {
  return (op >= spv::Op::OpBranch && op <= spv::Op::OpUnreachable) ||
         op == spv::Op::OpTerminateInvocation;
}

// Instructions of a function body whose later words are not all ids; they never
// use a bool, except OpSwitch, OpExtInst, which do not either.
bool HasLiterals(spv::Op op) {
  switch (op) {
    case spv::Op::OpLine:
    case spv::Op::OpCompositeExtract:
    case spv::Op::OpCompositeInsert:
    case spv::Op::OpVectorShuffle:
    case spv::Op::OpSwitch:
    case spv::Op::OpExtInst:
    case spv::Op::OpLoad:
    case spv::Op::OpStore:
    case spv::Op::OpVariable:
      return true;
    default:
      return false;
  }
}

// One pass over a module that collects every Choice and who uses it.
class Scan {
 public:
  void Visit(const Instruction& instruction) {
    const spv::Op op = OpOf(instruction);
    switch (op) {
      case spv::Op::OpString:
        strings_[instruction.word(1)] = LiteralText(instruction, 2);
        return;
      case spv::Op::OpName:
        names_[instruction.word(1)] = LiteralText(instruction, 2);
        return;
      case spv::Op::OpLine:
        place_ = {instruction.word(1), instruction.word(2)};
        return;
      case spv::Op::OpSpecConstantOp:
      case spv::Op::OpSpecConstantComposite:
        AddUses(instruction, op == spv::Op::OpSpecConstantOp ? 4 : 3, 0);
        return;
      case spv::Op::OpFunction:
        function_ = instruction.word(2);
        in_block_ = false;
        return;
      case spv::Op::OpFunctionEnd:
        function_ = 0;
        return;
      default:
        break;
    }
    if (function_ != 0) {
      VisitBody(op, instruction);
    }
  }

  std::vector<LogicalConstantFault> Faults() {
    for (auto& [id, choice] : choices_) {
      for (const Use& use : uses_[id]) {
        choice.misplaced |= use.function != choice.function;
      }
    }
    std::set<LogicalConstantFault> faults;
    for (const auto& [id, choice] : choices_) {
      if (!choice.misplaced) {
        continue;
      }
      std::set<std::string> names;
      std::set<uint32_t> seen;
      CollectNames(id, names, seen);
      if (names.empty()) {
        names.insert(std::string());
      }
      for (const std::string& name : names) {
        faults.insert({name, std::string(strings_[choice.place.file]),
                       choice.place.line, choice.is_or});
      }
    }
    return {faults.begin(), faults.end()};
  }

 private:
  struct Use {
    uint32_t function = 0;  // 0: outside every function
    uint32_t result = 0;    // the id made from it; 0: none that could be named
  };

  void VisitBody(spv::Op op, const Instruction& instruction) {
    if (op == spv::Op::OpLabel) {
      label_ = instruction.word(1);
      in_block_ = true;
    } else if (op == spv::Op::OpSelectionMerge) {
      merge_ = instruction.word(1);
      merges_[merge_] = {function_, place_, false, !in_block_};
    } else if (op == spv::Op::OpBranchConditional) {
      conditions_[merge_] = instruction.word(1);
      AddUses(instruction, 1, 0);
    } else if (op == spv::Op::OpPhi && merges_.contains(label_) &&
               instruction.words.size() == 7) {
      // `a && b` branches on a, `a || b` on !a; either way a is the first
      // value.
      Choice choice = merges_[label_];
      choice.is_or = conditions_[label_] != instruction.word(3);
      choices_[instruction.word(2)] = choice;
      AddUses(instruction, 3, instruction.word(2));
    } else if (!HasLiterals(op)) {
      AddUses(instruction, 1, 0);
    }
    if (IsTerminator(op)) {
      in_block_ = false;
    }
  }

  void AddUses(const Instruction& instruction, size_t first, uint32_t result) {
    if (function_ == 0) {
      result = instruction.word(2);
    }
    for (size_t i = first; i < instruction.words.size(); ++i) {
      uses_[instruction.word(i)].push_back({function_, result});
    }
  }

  // The nearest names: `id`'s own, else those of what is made from it.
  void CollectNames(uint32_t id, std::set<std::string>& names,
                    std::set<uint32_t>& seen) {
    if (id == 0 || !seen.insert(id).second) {
      return;
    }
    if (auto name = names_.find(id);
        name != names_.end() && !name->second.empty()) {
      names.insert(std::string(name->second));
      return;
    }
    for (const Use& use : uses_[id]) {
      CollectNames(use.result, names, seen);
    }
  }

  std::map<uint32_t, std::string_view> strings_;
  std::map<uint32_t, std::string_view> names_;
  std::map<uint32_t, Choice> merges_;  // by the label of the merge block
  std::map<uint32_t, uint32_t> conditions_;
  std::map<uint32_t, Choice> choices_;
  std::map<uint32_t, std::vector<Use>> uses_;
  Place place_;
  uint32_t function_ = 0;
  uint32_t label_ = 0;
  uint32_t merge_ = 0;
  bool in_block_ = false;
};

// True when `line` declares `name`: the whole word, then '='.
bool Declares(std::string_view line, std::string_view name) {
  auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (size_t at = line.find(name); at != line.npos;
       at = line.find(name, at + 1)) {
    const size_t next = line.find_first_not_of(" \t", at + name.size());
    if ((at == 0 || !is_word(line[at - 1])) && next != line.npos &&
        line[next] == '=' && line.substr(next, 2) != "==") {
      return true;
    }
  }
  return false;
}

// The last line up to `limit` that declares `name`; `limit` if none does. The
// operator may stand some lines below the name.
uint32_t DeclarationLine(std::string_view text, std::string_view name,
                         uint32_t limit) {
  uint32_t found = limit;
  uint32_t number = 0;
  for (size_t start = 0; start < text.size() && number < limit;) {
    const size_t end = std::min(text.find('\n', start), text.size());
    ++number;
    if (Declares(text.substr(start, end - start), name)) {
      found = number;
    }
    start = end + 1;
  }
  return found;
}

}  // namespace

std::vector<LogicalConstantFault> FindLogicalConstantFaults(
    std::span<const uint32_t> spirv) {
  Scan scan;
  ForEachInstruction(
      spirv, [&](const Instruction& instruction) { scan.Visit(instruction); });
  std::vector<LogicalConstantFault> faults = scan.Faults();
  std::ranges::sort(faults, {}, [](const LogicalConstantFault& fault) {
    return std::tie(fault.file, fault.line, fault.name);
  });
  return faults;
}

std::string DescribeFault(const Program& program,
                          const LogicalConstantFault& fault) {
  uint32_t line = fault.line;
  const SourceFile* file = program.FindFile(fault.file);
  if (file != nullptr && !fault.name.empty()) {
    line = DeclarationLine(sources::TextForCompiler(file->text), fault.name,
                           fault.line);
  }
  const std::string_view name =
      fault.name.empty() ? "x" : std::string_view(fault.name);
  const std::string_view op = fault.is_or ? "||" : "&&";
  const std::string ternary = fault.is_or ? "a ? true : b" : "a ? b : false";
  return fmt::format(
      "{}:{}: error: {}: '{}' of specialization constants in a constant "
      "expression gives invalid "
      "SPIR-V; write it as a ternary, const bool {} = {}; or name both "
      "operands first, "
      "const bool left = a; const bool right = b; const bool {} = left {} "
      "right; or compute it "
      "in the function that needs it, as a bool that is not const",
      fault.file.empty() ? "?" : fault.file, line,
      fault.name.empty() ? "expression" : fmt::format("'{}'", fault.name), op,
      name, ternary, name, op);
}

}  // namespace kiln::shaders
