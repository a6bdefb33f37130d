// SPDX-License-Identifier: Apache-2.0
#include "shaders/lint/loops.h"

#include <algorithm>

namespace kiln::shaders::lint {
namespace {

using spv::Op;

constexpr uint32_t kLoopDepth = 64;  // deeper ones are not looked at
constexpr int kExpressionDepth = 8;  // longer index expressions are dynamic

bool IsComparison(Op op) {
  return op >= Op::OpIEqual && op <= Op::OpSLessThanEqual;
}

// Integer arithmetic whose result follows from its operands, words 3 on.
bool IsArithmetic(Op op) {
  switch (op) {
    case Op::OpIAdd:
    case Op::OpISub:
    case Op::OpIMul:
    case Op::OpSDiv:
    case Op::OpUDiv:
    case Op::OpSMod:
    case Op::OpUMod:
    case Op::OpSRem:
    case Op::OpSNegate:
    case Op::OpBitcast:
    case Op::OpUConvert:
    case Op::OpSConvert:
    case Op::OpShiftLeftLogical:
    case Op::OpShiftRightLogical:
    case Op::OpShiftRightArithmetic:
    case Op::OpBitwiseAnd:
    case Op::OpBitwiseOr:
    case Op::OpBitwiseXor:
      return true;
    default:
      return false;
  }
}

int Find(const std::map<uint32_t, int>& map, uint32_t id) {
  const auto found = map.find(id);
  return found == map.end() ? kNoLoop : found->second;
}

}  // namespace

LoopNest::LoopNest(const Module& module, const Function& function)
    : module_(module), function_(function) {
  FindBlocks();
  if (loops_.empty()) {
    return;
  }
  FindStores();
  FindBounds();
  FindCounters();
}

int LoopNest::LoopOfBlock(uint32_t label) const {
  return Find(block_loops_, label);
}

int LoopNest::LoopOfHeader(uint32_t label) const {
  return Find(headers_, label);
}

int LoopNest::LoopOfMerge(uint32_t label) const {
  return Find(merges_, label);
}

bool LoopNest::IsWithin(int loop, int around) const {
  while (loop != kNoLoop && loop != around) {
    loop = loops_[loop].parent;
  }
  return loop == around;
}

int LoopNest::LoopCountedBy(uint32_t variable, int loop) const {
  while (loop != kNoLoop && !counters_.contains({variable, loop})) {
    loop = loops_[loop].parent;
  }
  return loop;
}

bool LoopNest::HasConstantBounds(uint32_t variable, int loop) const {
  const auto found = counters_.find({variable, loop});
  return found != counters_.end() && found->second;
}

IndexKind LoopNest::KindOfIndex(uint32_t id, int loop) const {
  return KindOfIndex(id, loop, 0);
}

// In the order of the module: a loop is open from its header to its merge
// block, its continue construct from the continue target on.
void LoopNest::FindBlocks() {
  std::vector<bool> continuing;  // by loop
  int open = kNoLoop;
  uint32_t label = 0;
  for (const Statement& statement : function_.statements) {
    if (statement.op() == Op::OpLabel) {
      label = statement.word(1);
      open = CloseLoops(label, open);
      if (open != kNoLoop && loops_[open].continue_target == label) {
        continuing[open] = true;
      }
    } else if (statement.op() == Op::OpLoopMerge) {
      open = OpenLoop(statement, label, open);
      continuing.resize(loops_.size());
    } else {
      continue;
    }
    block_loops_[label] = open;
    if (open != kNoLoop && continuing[open]) {
      continue_blocks_.insert(label);
    }
  }
}

// The block with `label` begins. Returns: the innermost loop still open.
int LoopNest::CloseLoops(uint32_t label, int open) const {
  for (int loop = open; loop != kNoLoop; loop = loops_[loop].parent) {
    if (loops_[loop].merge == label) {
      return loops_[loop].parent;
    }
  }
  return open;
}

// Returns: the innermost open loop from here on.
int LoopNest::OpenLoop(const Statement& merge, uint32_t label, int open) {
  const uint32_t depth = open == kNoLoop ? 0 : loops_[open].depth + 1;
  if (depth >= kLoopDepth) {
    return open;
  }
  const uint32_t unroll = static_cast<uint32_t>(spv::LoopControlMask::Unroll);
  const int loop = static_cast<int>(loops_.size());
  loops_.push_back({label, merge.word(1), merge.word(2), open, depth,
                    (merge.word(3) & unroll) != 0, false, merge.place});
  headers_[label] = loop;
  merges_[merge.word(1)] = loop;
  return loop;
}

void LoopNest::FindStores() {
  uint32_t label = 0;
  for (const Statement& statement : function_.statements) {
    if (statement.op() == Op::OpLabel) {
      label = statement.word(1);
    } else if (statement.op() == Op::OpStore) {
      stores_[statement.word(1)].push_back({statement.word(2),
                                            LoopOfBlock(label),
                                            continue_blocks_.contains(label)});
    } else {
      NoteUses(statement);
    }
  }
}

// Instructions that may write through a pointer, or make another from it.
void LoopNest::NoteUses(const Statement& statement) {
  size_t first = 0;
  switch (statement.op()) {
    case Op::OpAccessChain:
    case Op::OpInBoundsAccessChain:
    case Op::OpCopyObject:
    case Op::OpFunctionCall:
      first = 3;
      break;
    case Op::OpExtInst:
      first = 5;
      break;
    case Op::OpCopyMemory:
      first = 1;
      break;
    default:
      return;
  }
  for (size_t i = first; i < statement.instruction.words.size(); ++i) {
    escaping_.insert(statement.word(i));
  }
}

// Variables that are compared with a constant to decide on leaving a loop.
void LoopNest::FindBounds() {
  uint32_t label = 0;
  for (const Statement& statement : function_.statements) {
    if (statement.op() == Op::OpLabel) {
      label = statement.word(1);
    }
    if (statement.op() != Op::OpBranchConditional) {
      continue;
    }
    const int loop = LoopOfBlock(label);
    const Statement* test = function_.Definition(statement.word(1));
    if (loop == kNoLoop || test == nullptr || !IsComparison(test->op()) ||
        (statement.word(2) != loops_[loop].merge &&
         statement.word(3) != loops_[loop].merge)) {
      continue;
    }
    for (const auto& [value, bound] :
         {std::pair(test->word(3), test->word(4)),
          std::pair(test->word(4), test->word(3))}) {
      if (module_.IsConstant(bound)) {
        bounded_.emplace(LoadedVariable(value), loop);
      }
    }
  }
}

void LoopNest::FindCounters() {
  for (const auto& [variable, stores] : stores_) {
    if (function_.Definition(variable) == nullptr ||
        escaping_.contains(variable)) {
      continue;
    }
    std::set<int> tried;
    for (const Store& store : stores) {
      if (store.in_continue && tried.insert(store.loop).second) {
        AddCounter(variable, store.loop, stores);
      }
    }
  }
}

void LoopNest::AddCounter(uint32_t variable, int loop,
                          const std::vector<Store>& stores) {
  bool constant_start = true;
  for (const Store& store : stores) {
    if (!IsWithin(store.loop, loop)) {
      constant_start &= module_.IsConstant(store.value);
    } else if (store.loop != loop || !store.in_continue ||
               !IsStep(store.value, variable)) {
      return;
    }
  }
  const bool constant_bounds =
      constant_start && bounded_.contains({variable, loop});
  counters_[{variable, loop}] = constant_bounds;
  loops_[loop].unrolled |= loops_[loop].marked && constant_bounds;
}

// variable + constant, or the like.
bool LoopNest::IsStep(uint32_t value, uint32_t variable) const {
  const Statement* step = function_.Definition(value);
  if (step == nullptr || !IsArithmetic(step->op())) {
    return false;
  }
  const uint32_t left = step->word(3);
  const uint32_t right = step->word(4);
  return (LoadedVariable(left) == variable && module_.IsConstant(right)) ||
         (LoadedVariable(right) == variable && module_.IsConstant(left));
}

uint32_t LoopNest::LoadedVariable(uint32_t value) const {
  const Statement* load = function_.Definition(value);
  return load != nullptr && load->op() == Op::OpLoad ? load->word(3) : 0;
}

IndexKind LoopNest::KindOfIndex(uint32_t id, int loop, int depth) const {
  if (module_.IsConstant(id)) {
    return IndexKind::kUnrolled;
  }
  const Statement* value = function_.Definition(id);
  if (value == nullptr || depth > kExpressionDepth) {
    return IndexKind::kDynamic;
  }
  if (value->op() == Op::OpLoad) {
    const int counted = LoopCountedBy(value->word(3), loop);
    if (!HasConstantBounds(value->word(3), counted)) {
      return IndexKind::kDynamic;
    }
    return loops_[counted].marked ? IndexKind::kUnrolled : IndexKind::kCounter;
  }
  if (!IsArithmetic(value->op())) {
    return IndexKind::kDynamic;
  }
  IndexKind kind = IndexKind::kUnrolled;
  for (size_t i = 3; i < value->instruction.words.size(); ++i) {
    kind = std::min(kind, KindOfIndex(value->word(i), loop, depth + 1));
  }
  return kind;
}

}  // namespace kiln::shaders::lint
