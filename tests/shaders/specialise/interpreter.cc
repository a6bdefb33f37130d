// SPDX-License-Identifier: Apache-2.0
#include "tests/shaders/specialise/interpreter.h"

#include <bit>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <spirv/unified1/spirv.hpp11>

#include "shaders/constant_arithmetic.h"
#include "shaders/module_constants.h"
#include "shaders/spirv_op.h"

namespace kiln::specialise {
namespace {

using shaders::NumericType;
using shaders::OpOf;

constexpr int kMaxSteps = 20000;

class Machine {
 public:
  Machine(std::span<const uint32_t> spirv, std::span<const uint64_t> inputs)
      : constants_(shaders::ModuleConstants::Parse(spirv).value()),
        inputs_(inputs) {
    ForEachInstruction(
        spirv, [this](const Instruction& instruction) { Index(instruction); });
  }

  Trace Run() {
    const std::optional<uint64_t> returned = Call(entry_, {});
    if (returned) {
      trace_.end = "return";
    }
    return std::move(trace_);
  }

 private:
  struct Frame {
    std::unordered_map<uint32_t, uint64_t> values;
  };

  void Index(const Instruction& instruction);
  std::optional<uint64_t> Call(uint32_t function,
                               std::span<const uint64_t> arguments);
  bool Execute(const Instruction& instruction, Frame& frame);
  void EnterBlock(size_t& at, uint32_t label, uint32_t from, Frame& frame);
  uint64_t Value(uint32_t id, const Frame& frame) const;
  uint32_t Target(const Instruction& branch, const Frame& frame) const;

  bool Stop(std::string why) {
    if (trace_.end.empty()) {
      trace_.end = std::move(why);
    }
    return false;
  }

  shaders::ModuleConstants constants_;
  std::span<const uint64_t> inputs_;
  std::vector<Instruction> code_;
  std::unordered_map<uint32_t, size_t> places_;   // of labels and functions
  std::unordered_map<uint32_t, uint32_t> types_;  // of results
  std::unordered_map<uint32_t, uint32_t> locations_;
  std::unordered_map<uint32_t, uint64_t> globals_;  // cells of variables
  std::unordered_map<uint64_t, uint32_t> outputs_;  // locations, by cell
  std::vector<uint64_t> cells_;
  uint32_t entry_ = 0;
  int steps_ = 0;
  Trace trace_;
};

void Machine::Index(const Instruction& instruction) {
  switch (OpOf(instruction)) {
    case spv::Op::OpEntryPoint:
      entry_ = instruction.word(2);
      break;
    case spv::Op::OpDecorate:
      if (static_cast<spv::Decoration>(instruction.word(2)) ==
          spv::Decoration::Location) {
        locations_[instruction.word(1)] = instruction.word(3);
      }
      break;
    case spv::Op::OpLabel:
      places_[instruction.word(1)] = code_.size();
      break;
    case spv::Op::OpFunction:
      places_[instruction.word(2)] = code_.size();
      break;
    case spv::Op::OpVariable: {
      const auto storage = static_cast<spv::StorageClass>(instruction.word(3));
      if (storage == spv::StorageClass::Function) {
        break;
      }
      const uint32_t id = instruction.word(2);
      globals_[id] = cells_.size();
      const uint32_t location = locations_[id];
      if (storage == spv::StorageClass::Output) {
        outputs_[cells_.size()] = location;
      }
      cells_.push_back(storage == spv::StorageClass::Input &&
                               location < inputs_.size()
                           ? inputs_[location]
                           : 0);
      break;
    }
    default:
      break;
  }
  types_[instruction.word(2)] = instruction.word(1);
  code_.push_back(instruction);
}

uint64_t Machine::Value(uint32_t id, const Frame& frame) const {
  if (const auto found = frame.values.find(id); found != frame.values.end()) {
    return found->second;
  }
  if (const auto found = globals_.find(id); found != globals_.end()) {
    return found->second;
  }
  const auto constant = constants_.Value(id);
  return constant && !constant->lanes.empty() ? constant->lanes[0] : 0;
}

uint32_t Machine::Target(const Instruction& branch, const Frame& frame) const {
  switch (OpOf(branch)) {
    case spv::Op::OpBranch:
      return branch.word(1);
    case spv::Op::OpBranchConditional:
      return branch.word(Value(branch.word(1), frame) != 0 ? 2 : 3);
    default:
      break;
  }
  const uint64_t selector = Value(branch.word(1), frame);
  const auto type = types_.find(branch.word(1));
  const shaders::VectorType* scalar = constants_.FindType(type->second);
  const uint32_t bits = scalar == nullptr ? 32 : scalar->lane.bits;
  const size_t words = bits == 64 ? 2 : 1;
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  for (size_t i = 3; i + words < branch.words.size(); i += words + 1) {
    const uint64_t literal =
        branch.word(i) | (words == 2 ? uint64_t{branch.word(i + 1)} << 32 : 0);
    if ((literal & mask) == selector) {
      return branch.word(i + words);
    }
  }
  return branch.word(2);
}

// Phis all read before any is written.
void Machine::EnterBlock(size_t& at, uint32_t label, uint32_t from,
                         Frame& frame) {
  at = places_.at(label) + 1;
  std::vector<std::pair<uint32_t, uint64_t>> phis;
  for (; OpOf(code_[at]) == spv::Op::OpPhi; ++at) {
    for (size_t i = 3; i + 1 < code_[at].words.size(); i += 2) {
      if (code_[at].word(i + 1) == from) {
        phis.emplace_back(code_[at].word(2), Value(code_[at].word(i), frame));
      }
    }
  }
  for (const auto& [id, value] : phis) {
    frame.values[id] = value;
  }
}

// Of what is no control flow. Returns: false to stop.
bool Machine::Execute(const Instruction& instruction, Frame& frame) {
  const uint32_t result = instruction.word(2);
  switch (OpOf(instruction)) {
    case spv::Op::OpLine:
    case spv::Op::OpNoLine:
    case spv::Op::OpSelectionMerge:
    case spv::Op::OpLoopMerge:
      return true;
    case spv::Op::OpVariable:
      frame.values[result] = cells_.size();
      cells_.push_back(
          instruction.words.size() > 4 ? Value(instruction.word(4), frame) : 0);
      return true;
    case spv::Op::OpLoad:
      frame.values[result] = cells_[Value(instruction.word(3), frame)];
      return true;
    case spv::Op::OpStore: {
      const uint64_t cell = Value(instruction.word(1), frame);
      cells_[cell] = Value(instruction.word(2), frame);
      if (const auto output = outputs_.find(cell); output != outputs_.end()) {
        trace_.stores.emplace_back(output->second, cells_[cell]);
      }
      return true;
    }
    case spv::Op::OpCopyObject:
      frame.values[result] = Value(instruction.word(3), frame);
      return true;
    case spv::Op::OpFunctionCall: {
      std::vector<uint64_t> arguments;
      for (const uint32_t id : instruction.words.subspan(4)) {
        arguments.push_back(Value(id, frame));
      }
      const auto value = Call(instruction.word(3), arguments);
      frame.values[result] = value.value_or(0);
      return value.has_value();
    }
    default:
      break;
  }
  std::vector<shaders::NumericValue> operands;
  for (const uint32_t id : instruction.words.subspan(3)) {
    const shaders::VectorType* type = constants_.FindType(types_[id]);
    operands.push_back(
        {type == nullptr ? NumericType() : type->lane, {Value(id, frame)}});
  }
  const shaders::VectorType* type = constants_.FindType(instruction.word(1));
  const auto lanes =
      type == nullptr
          ? std::nullopt
          : shaders::Compute(instruction.opcode, type->lane, operands, {});
  if (!lanes) {
    return Stop(fmt::format("unknown op {}", instruction.opcode));
  }
  frame.values[result] = (*lanes)[0];
  return true;
}

// Returns: nullopt when the invocation ends in it.
std::optional<uint64_t> Machine::Call(uint32_t function,
                                      std::span<const uint64_t> arguments) {
  Frame frame;
  size_t at = places_.at(function) + 1;
  for (size_t i = 0; OpOf(code_[at]) == spv::Op::OpFunctionParameter;
       ++at, ++i) {
    frame.values[code_[at].word(2)] = arguments[i];
  }
  uint32_t label = code_[at].word(1);
  ++at;
  while (true) {
    if (++steps_ > kMaxSteps) {
      Stop("too long");
      return std::nullopt;
    }
    const Instruction& instruction = code_[at];
    switch (OpOf(instruction)) {
      case spv::Op::OpBranch:
      case spv::Op::OpBranchConditional:
      case spv::Op::OpSwitch: {
        const uint32_t target = Target(instruction, frame);
        EnterBlock(at, target, label, frame);
        label = target;
        continue;
      }
      case spv::Op::OpReturn:
        return 0;
      case spv::Op::OpReturnValue:
        return Value(instruction.word(1), frame);
      case spv::Op::OpKill:
      case spv::Op::OpTerminateInvocation:
        Stop("kill");
        return std::nullopt;
      case spv::Op::OpUnreachable:
        Stop("unreachable");
        return std::nullopt;
      default:
        if (!Execute(instruction, frame)) {
          return std::nullopt;
        }
        ++at;
        break;
    }
  }
}

}  // namespace

Trace Interpret(std::span<const uint32_t> spirv,
                std::span<const uint64_t> inputs) {
  return Machine(spirv, inputs).Run();
}

}  // namespace kiln::specialise
