// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which blocks stay and how each ends, once it is known which branches are
// taken. What stays is structured as before: a construct whose branch is
// decided is dissolved where that leaves no branch that only it allowed, and
// else stays as a switch of one case; a loop that is never continued is
// dissolved, or keeps a continue block that does nothing; a merge block that
// nothing reaches becomes OpUnreachable. Internal to this folder.

#include <cstdint>
#include <vector>

#include "shaders/specialise/constant_propagation.h"
#include "shaders/specialise/control_flow.h"
#include "shaders/specialise/module_index.h"

namespace kiln::specialise {

struct BlockPlan {
  enum class Content : uint8_t {
    kNothing,  // not written
    kAll,
    kUnreachable,  // a label and OpUnreachable
    kContinue,     // a label and a branch to `target`, its loop's header
  };
  enum class End : uint8_t {
    kAsItIs,
    kBranch,      // to `target`
    kOnlySwitch,  // an OpSwitch whose only way is `target`
  };

  Content content = Content::kNothing;
  End end = End::kAsItIs;
  bool keeps_merge = true;  // its OpSelectionMerge or OpLoopMerge
  uint32_t target = kNone;  // block
};

// Thread-compatible. Lifetime: all that it is given outlives it.
class Pruner {
 public:
  Pruner(const ModuleIndex& index, const ControlFlow& flow,
         const ConstantPropagation& known);

  // By block.
  const std::vector<BlockPlan>& plans() const { return plans_; }

  // Branches that have to stay as they are, though it is known where they lead.
  // If there are any, the plans are of no use: the propagation has to be done
  // again with these pinned.
  const std::vector<uint32_t>& to_pin() const { return to_pin_; }

 private:
  void PlanBlock(uint32_t block);
  void PlanFunction(const Function& function);
  void PlanHeader(uint32_t header);
  void PlanSelection(uint32_t header);
  void PlanLoop(uint32_t header);
  void PinFunction(const Function& function);
  void MakeStub(uint32_t block, BlockPlan::Content content, uint32_t target);
  bool CanDissolve(uint32_t header);
  uint32_t Owner(uint32_t block);

  const ModuleIndex& index_;
  const ControlFlow& flow_;
  const ConstantPropagation& known_;
  std::vector<BlockPlan> plans_;
  std::vector<uint32_t> enclosing_;  // as Block's, dissolved ones skipped
  std::vector<uint32_t> to_pin_;
};

}  // namespace kiln::specialise
