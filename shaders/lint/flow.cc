// SPDX-License-Identifier: Apache-2.0
#include "shaders/lint/flow.h"

#include <algorithm>
#include <utility>

namespace kiln::shaders::lint {

using spv::Op;

Flow::Flow(const LoopNest& loops, LoopRuns& runs, LoopRun base,
           ArrayKnowledge knowledge)
    : loops_(loops),
      loop_runs_(runs),
      base_(base),
      runs_(loops.loops().size(), base),
      run_(base),
      knowledge_(std::move(knowledge)) {}

void Flow::Enter(uint32_t label) {
  loop_ = loops_.LoopOfBlock(label);
  if (loop_ != kNoLoop && loops_.LoopOfHeader(label) == loop_) {
    const Loop& loop = loops_.loops()[loop_];
    const LoopRun outer = loop.parent == kNoLoop ? base_ : runs_[loop.parent];
    runs_[loop_] = loop.unrolled ? outer : loop_runs_.Add(outer, loop.place);
  }
  run_ = loop_ == kNoLoop ? base_ : runs_[loop_];
  if (!std::exchange(entered_, true)) {
    return;  // the first block
  }
  const auto arrival = arrivals_.find(label);
  if (arrival == arrivals_.end()) {
    knowledge_.reset();
    return;
  }
  knowledge_ = std::move(arrival->second.knowledge);
  // With one way out, its test, a loop has run through.
  AddIterations(loops_.LoopOfMerge(label), arrival->second.ways == 1);
  arrivals_.erase(arrival);
}

void Flow::Leave(const Statement& statement) {
  switch (statement.op()) {
    case Op::OpBranch:
      Go(statement.word(1));
      break;
    case Op::OpBranchConditional:
      Go(statement.word(2));
      Go(statement.word(3));
      break;
    case Op::OpSwitch:
      Go(statement.word(2));
      for (size_t i = 4; i < statement.instruction.words.size(); i += 2) {
        Go(statement.word(i));
      }
      break;
    case Op::OpReturn:
    case Op::OpReturnValue:
      if (returned_) {
        returned_->Join(*knowledge_, loop_runs_);
      } else {
        returned_ = std::move(knowledge_);
      }
      break;
    case Op::OpKill:
    case Op::OpUnreachable:
    case Op::OpTerminateInvocation:
      break;
    default:
      return;
  }
  knowledge_.reset();
}

void Flow::Go(uint32_t label) {
  const int loop = loops_.LoopOfHeader(label);
  if (loop != kNoLoop && loops_.IsWithin(loop_, loop)) {
    GoBack(loop);
    return;
  }
  cost_ += knowledge_->size();
  const auto [arrival, is_first] =
      arrivals_.try_emplace(label, Arrival{*knowledge_, 1});
  if (!is_first) {
    arrival->second.knowledge.Join(*knowledge_, loop_runs_);
    ++arrival->second.ways;
  }
}

// What an iteration of `loop` has written to the element its counter selects
// is written to every element once the counter has been through all of them.
void Flow::GoBack(int loop) {
  cost_ += knowledge_->size();
  for (const auto& [array, runs] : knowledge_->writers) {
    writers_[loop][array].insert(runs.begin(), runs.end());
  }
  for (const auto& [root, facts] : knowledge_->written) {
    for (const auto& [path, run] : facts) {
      Path every = path;
      std::ranges::replace_if(
          every,
          [&](uint32_t index) {
            return index >= kCountedElement && index != kEveryElement &&
                   loops_.HasConstantBounds(index & ~kCountedElement, loop);
          },
          kEveryElement);
      if (every != path) {
        counted_[loop][root][std::move(every)] = run;
      }
    }
  }
}

void Flow::AddIterations(int loop, bool complete) {
  knowledge_->AddWriters(writers_[loop]);
  if (complete) {
    for (auto& [root, facts] : counted_[loop]) {
      knowledge_->written[root].merge(facts);
    }
  }
}

}  // namespace kiln::shaders::lint
