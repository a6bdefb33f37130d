// SPDX-License-Identifier: Apache-2.0

// Rule struct-array-across-loops. Walks the program as it runs, from each entry
// point, into every call. Its cost grows with the calls, so it has a budget.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "shaders/lint/flow.h"
#include "shaders/lint/loop_trace.h"
#include "shaders/lint/loops.h"
#include "shaders/lint/pointers.h"
#include "shaders/lint/rules.h"

namespace kiln::shaders::lint {
namespace {

using spv::Op;

// Statements and copied facts; the largest shaders need a hundredth of it.
constexpr size_t kBudget = 20'000'000;
constexpr uint32_t kCallDepth = 64;
constexpr size_t kArraysOfVariable = 16;  // later members are not looked at

constexpr std::string_view kAdvice =
    "do the work in one loop, or read it again from where it came";

// A variable that holds arrays of structs.
struct Root {
  uint32_t type = 0;
  std::vector<Path> arrays;  // the outermost arrays in it
  LoopRun base = kOutside;   // where it begins to live
};

// What a pointer points into, across calls.
struct Target {
  uint32_t root = 0;
  Path path;
  bool exact = true;  // false: `path` ends before an index nobody knows
};

// Of a function, as often as it is called.
struct Source {
  Source(const Module& module, const Function& code)
      : function(code),
        loops(module, code),
        chains(LocalChains(module, code)) {}

  const Function& function;
  const LoopNest loops;
  const std::map<uint32_t, Pointer> chains;
};

// One call of a function.
struct Frame {
  const Source& source;
  Flow flow;
  std::set<LoopRun> returned = {};  // writers of the value returned
};

class Walk {
 public:
  explicit Walk(const Module& module) : module_(module) {}

  std::vector<LintFinding> Run();

 private:
  // Returns: what is known when the function returns; nothing if it never does.
  std::optional<ArrayKnowledge> Call(uint32_t id, LoopRun run,
                                     ArrayKnowledge knowledge,
                                     std::set<LoopRun>& returned);
  void Visit(Frame& frame, const Statement& statement);
  void VisitCall(Frame& frame, const Statement& statement);
  void VisitValue(const Statement& statement);

  void AddVariable(const Statement& variable, LoopRun base,
                   ArrayKnowledge& knowledge);
  void FindArrays(uint32_t type, Path& path, std::vector<Path>& arrays) const;
  void AddChain(const Frame& frame, const Statement& chain);
  void Read(Frame& frame, uint32_t pointer, const Statement& load);
  void CheckWriters(const Frame& frame, const ArrayId& array,
                    const std::set<LoopRun>& writers, uint32_t pointer,
                    const Place& place);
  void CheckIterations(Frame& frame, const ArrayId& array, uint32_t pointer,
                       const Place& place);
  void Write(Frame& frame, uint32_t pointer, std::set<LoopRun> writers);
  std::set<LoopRun> ValueWriters(uint32_t value) const;

  LintFinding Finding(const Frame& frame, const ArrayId& array,
                      uint32_t pointer, const Place& place);
  std::string At(const Place& place) const;

  const Module& module_;
  LoopRuns runs_;
  std::map<uint32_t, Source> sources_;  // by function
  std::map<uint32_t, Root> roots_;
  std::map<uint32_t, Target> targets_;               // by pointer
  std::map<uint32_t, std::set<LoopRun>> values_;     // writers of a value
  std::map<ArrayId, std::set<LoopRun>> all_writes_;  // anywhere
  std::map<ArrayId, LintFinding> between_;
  // Reads that are faults if the loop also writes the array.
  std::map<std::pair<ArrayId, LoopRun>, LintFinding> unwritten_;
  uint32_t depth_ = 0;
  size_t spent_ = 0;
};

// Whether an access at `path` touches what lies at `array`, or the reverse.
bool Touches(const Path& path, const Path& array) {
  const size_t size = std::min(path.size(), array.size());
  return std::equal(path.begin(), path.begin() + static_cast<int>(size),
                    array.begin());
}

std::vector<LintFinding> Walk::Run() {
  for (const uint32_t entry : module_.entry_points()) {
    ArrayKnowledge knowledge;
    for (const Statement& variable : module_.privates()) {
      AddVariable(variable, kOutside, knowledge);
    }
    std::set<LoopRun> returned;
    Call(entry, kOutside, std::move(knowledge), returned);
  }
  std::vector<LintFinding> findings;
  for (const auto& [array, finding] : between_) {
    findings.push_back(finding);
  }
  std::set<ArrayId> reported;
  for (const auto& [read, finding] : unwritten_) {
    const ArrayId& array = read.first;
    const LoopRun loop = read.second;
    const bool written = std::ranges::any_of(
        all_writes_[array],
        [&](LoopRun run) { return runs_.IsWithin(run, loop); });
    if (written && !between_.contains(array) && reported.insert(array).second) {
      findings.push_back(finding);
    }
  }
  return findings;
}

std::optional<ArrayKnowledge> Walk::Call(uint32_t id, LoopRun run,
                                         ArrayKnowledge knowledge,
                                         std::set<LoopRun>& returned) {
  const Function* function = module_.FindFunction(id);
  if (function == nullptr || depth_ >= kCallDepth) {
    return knowledge;
  }
  ++depth_;
  const Source& source =
      sources_.try_emplace(id, module_, *function).first->second;
  Frame frame{source, Flow(source.loops, runs_, run, std::move(knowledge))};
  for (const Statement& statement : function->statements) {
    if (++spent_ + frame.flow.cost() > kBudget) {
      break;
    }
    Visit(frame, statement);
  }
  spent_ += frame.flow.cost();
  --depth_;
  returned = std::move(frame.returned);
  return frame.flow.TakeReturned();
}

void Walk::Visit(Frame& frame, const Statement& statement) {
  if (statement.op() == Op::OpLabel) {
    frame.flow.Enter(statement.word(1));
  }
  if (frame.flow.knowledge() == nullptr) {
    return;
  }
  switch (statement.op()) {
    case Op::OpVariable:
      AddVariable(statement, frame.flow.base(), *frame.flow.knowledge());
      break;
    case Op::OpAccessChain:
    case Op::OpInBoundsAccessChain:
      AddChain(frame, statement);
      break;
    case Op::OpLoad:
      Read(frame, statement.word(3), statement);
      break;
    case Op::OpStore:
      Write(frame, statement.word(1), ValueWriters(statement.word(2)));
      break;
    case Op::OpExtInst:  // modf and the like
      for (size_t i = 5; i < statement.instruction.words.size(); ++i) {
        Write(frame, statement.word(i), {});
      }
      break;
    case Op::OpFunctionCall:
      VisitCall(frame, statement);
      break;
    case Op::OpReturnValue:
      frame.returned.merge(ValueWriters(statement.word(1)));
      break;
    case Op::OpCompositeConstruct:
    case Op::OpCompositeExtract:
    case Op::OpCompositeInsert:
    case Op::OpCopyObject:
    case Op::OpCopyLogical:
    case Op::OpSelect:
    case Op::OpPhi:
      VisitValue(statement);
      break;
    default:
      break;
  }
  frame.flow.Leave(statement);
}

void Walk::VisitCall(Frame& frame, const Statement& statement) {
  const Function* callee = module_.FindFunction(statement.word(3));
  if (callee == nullptr) {
    return;
  }
  for (size_t i = 0; i < callee->parameters.size(); ++i) {
    const uint32_t parameter = callee->parameters[i];
    const uint32_t argument = statement.word(i + 4);
    if (const auto target = targets_.find(argument); target != targets_.end()) {
      targets_[parameter] = Target(target->second);
    } else {
      targets_.erase(parameter);
    }
    values_[parameter] = ValueWriters(argument);
  }
  ArrayKnowledge& knowledge = *frame.flow.knowledge();
  std::set<LoopRun> returned;
  frame.flow.Resume(
      Call(callee->id, frame.flow.run(), std::move(knowledge), returned));
  values_[statement.word(2)] = std::move(returned);
}

// A value made of others. Words that are no ids but literals may look like one;
// that only adds writers.
void Walk::VisitValue(const Statement& statement) {
  const Type* type = module_.FindType(statement.word(1));
  if (type == nullptr || !type->has_struct_array) {
    return;
  }
  std::set<LoopRun> writers;
  for (size_t i = 3; i < statement.instruction.words.size(); ++i) {
    writers.merge(ValueWriters(statement.word(i)));
  }
  values_[statement.word(2)] = std::move(writers);
}

std::set<LoopRun> Walk::ValueWriters(uint32_t value) const {
  const auto found = values_.find(value);
  return found == values_.end() ? std::set<LoopRun>() : found->second;
}

void Walk::AddVariable(const Statement& variable, LoopRun base,
                       ArrayKnowledge& knowledge) {
  const uint32_t id = variable.word(2);
  Root root;
  root.type = module_.LocalPointee(id);
  root.base = base;
  Path path;
  FindArrays(root.type, path, root.arrays);
  if (root.arrays.empty()) {
    return;
  }
  knowledge.Forget(id);
  if (variable.instruction.words.size() > 4) {
    knowledge.written[id][Path()] = base;
  }
  targets_[id] = {id, {}, true};
  roots_[id] = std::move(root);
}

// Members come before elements in every path, so `path` has members only.
void Walk::FindArrays(uint32_t id, Path& path,
                      std::vector<Path>& arrays) const {
  const Type* type = module_.FindType(id);
  if (type == nullptr || !type->has_struct_array ||
      arrays.size() >= kArraysOfVariable) {
    return;
  }
  if (type->IsArray()) {
    arrays.push_back(path);
    return;
  }
  for (uint32_t i = 0; i < type->parts.size(); ++i) {
    path.push_back(i);
    FindArrays(type->parts[i], path, arrays);
    path.pop_back();
  }
}

void Walk::AddChain(const Frame& frame, const Statement& chain) {
  const auto base = targets_.find(chain.word(3));
  if (base == targets_.end()) {
    return;
  }
  Target target = base->second;
  for (size_t i = 4; i < chain.instruction.words.size() && target.exact; ++i) {
    const uint32_t index = chain.word(i);
    const Statement* load = frame.source.function.Definition(index);
    const uint32_t variable =
        load != nullptr && load->op() == Op::OpLoad ? load->word(3) : 0;
    if (const auto value = module_.ConstantValue(index)) {
      target.path.push_back(*value);
    } else if (frame.source.loops.LoopCountedBy(variable, frame.flow.loop()) !=
               kNoLoop) {
      target.path.push_back(kCountedElement | variable);
    } else {
      target.exact = false;
    }
  }
  targets_[chain.word(2)] = std::move(target);
}

void Walk::Read(Frame& frame, uint32_t pointer, const Statement& load) {
  const auto found = targets_.find(pointer);
  if (found == targets_.end()) {
    return;
  }
  const Target& target = found->second;
  const ArrayKnowledge& knowledge = *frame.flow.knowledge();
  const Root& root = roots_[target.root];
  std::set<LoopRun> value;
  for (size_t i = 0; i < root.arrays.size(); ++i) {
    const ArrayId array = {target.root, i};
    if (!Touches(target.path, root.arrays[i])) {
      continue;
    }
    if (const auto writers = knowledge.writers.find(array);
        writers != knowledge.writers.end()) {
      value.insert(writers->second.begin(), writers->second.end());
      CheckWriters(frame, array, writers->second, pointer, load.place);
    }
    CheckIterations(frame, array, pointer, load.place);
  }
  const Type* type = module_.FindType(load.word(1));
  if (type != nullptr && type->has_struct_array) {
    values_[load.word(2)] = std::move(value);
  }
}

void Walk::CheckWriters(const Frame& frame, const ArrayId& array,
                        const std::set<LoopRun>& writers, uint32_t pointer,
                        const Place& place) {
  spent_ += writers.size();
  for (const LoopRun writer : writers) {
    if (!between_.contains(array) && runs_.AreApart(writer, frame.flow.run())) {
      LintFinding finding = Finding(frame, array, pointer, place);
      finding.message = fmt::format(
          "array of structs '{}', written in the loop at {}, is read in "
          "another loop, so all of it is kept in between; {}",
          finding.symbol, At(runs_.place(writer)), kAdvice);
      between_[array] = std::move(finding);
    }
  }
}

void Walk::CheckIterations(Frame& frame, const ArrayId& array, uint32_t pointer,
                           const Place& place) {
  const Root& root = roots_[array.first];
  const Target& target = targets_[pointer];
  const Path& path = std::max(
      target.path, root.arrays[array.second],
      [](const Path& a, const Path& b) { return a.size() < b.size(); });
  const auto& written = frame.flow.knowledge()->written[array.first];
  spent_ += written.size();
  for (LoopRun run = frame.flow.run(); run != root.base && run != kOutside;
       run = runs_.parent(run)) {
    if (unwritten_.contains({array, run}) ||
        IsWrittenWithin(module_, runs_, written, root.type, path, run)) {
      continue;
    }
    LintFinding finding = Finding(frame, array, pointer, place);
    finding.message = fmt::format(
        "array of structs '{}' is carried from one iteration of the loop at {} "
        "to the next; {}",
        finding.symbol, At(runs_.place(run)), kAdvice);
    unwritten_[{array, run}] = std::move(finding);
  }
}

void Walk::Write(Frame& frame, uint32_t pointer, std::set<LoopRun> writers) {
  const auto found = targets_.find(pointer);
  if (found == targets_.end()) {
    return;
  }
  const Target& target = found->second;
  ArrayKnowledge& knowledge = *frame.flow.knowledge();
  const Root& root = roots_[target.root];
  writers.insert(frame.flow.run());
  for (size_t i = 0; i < root.arrays.size(); ++i) {
    if (!Touches(target.path, root.arrays[i])) {
      continue;
    }
    const ArrayId array = {target.root, i};
    std::set<LoopRun>& known = knowledge.writers[array];
    if (target.exact && target.path.size() <= root.arrays[i].size()) {
      known.clear();  // as a whole
    }
    known.insert(writers.begin(), writers.end());
    all_writes_[array].insert(frame.flow.run());
  }
  if (target.exact) {
    knowledge.AddWritten(module_, runs_, {target.root, root.type}, target.path,
                         frame.flow.run());
  }
}

LintFinding Walk::Finding(const Frame& frame, const ArrayId& array,
                          uint32_t pointer, const Place& place) {
  const Function& function = frame.source.function;
  const auto chain = frame.source.chains.find(pointer);
  const uint32_t local =
      chain == frame.source.chains.end() ? pointer : chain->second.root;
  LintFinding finding;
  finding.rule = LintRule::kStructArrayAcrossLoops;
  finding.file = module_.FileName(place);
  finding.line = place.line;
  finding.symbol = SourceName(module_, function, local);
  // From where the variable or parameter points to, to the array.
  const Path& path = roots_[array.first].arrays[array.second];
  uint32_t id = module_.LocalPointee(local);
  for (size_t i = targets_[local].path.size(); i < path.size(); ++i) {
    finding.symbol += fmt::format(".{}", module_.MemberName(id, path[i]));
    const Type* type = module_.FindType(id);
    id = type == nullptr ? 0 : type->Part(path[i]);
  }
  return finding;
}

std::string Walk::At(const Place& place) const {
  return fmt::format("{}:{}", module_.FileName(place), place.line);
}

}  // namespace

std::vector<LintFinding> FindStructArraysAcrossLoops(const Module& module) {
  if (!module.has_local_struct_arrays()) {
    return {};
  }
  return Walk(module).Run();
}

}  // namespace kiln::shaders::lint
