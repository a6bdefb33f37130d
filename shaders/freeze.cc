// SPDX-License-Identifier: Apache-2.0
#include "shaders/freeze.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <spirv/unified1/spirv.hpp11>

#include "proto/spirv_view.h"
#include "proto/status_macros.h"
#include "shaders/compiler.h"
#include "shaders/module_constants.h"
#include "shaders/module_limits.h"
#include "shaders/spirv_op.h"

namespace kiln::shaders {
namespace {

constexpr size_t kBoundWord = 3;  // of the header: all ids are below it

void CopyInstruction(const Instruction& instruction,
                     std::vector<uint32_t>& out) {
  out.insert(out.end(), instruction.words.begin(), instruction.words.end());
}

void AppendConstant(spv::Op op, uint32_t type, uint32_t result,
                    std::span<const uint32_t> operands,
                    std::vector<uint32_t>& out) {
  out.push_back(static_cast<uint32_t>(op) |
                (static_cast<uint32_t>(3 + operands.size()) << 16));
  out.push_back(type);
  out.push_back(result);
  out.insert(out.end(), operands.begin(), operands.end());
}

// True for instructions of a function body whose operands' values the
// validator never looks at.
bool TakesAnyValue(spv::Op op) {
  if ((op >= spv::Op::OpFunction && op <= spv::Op::OpFunctionCall) ||
      (op >= spv::Op::OpVectorExtractDynamic && op <= spv::Op::OpTranspose) ||
      (op >= spv::Op::OpConvertFToU && op <= spv::Op::OpBitCount) ||
      (op >= spv::Op::OpDPdx && op <= spv::Op::OpFwidthCoarse) ||
      (op >= spv::Op::OpPhi && op <= spv::Op::OpUnreachable)) {
    return true;
  }
  switch (op) {
    case spv::Op::OpLine:
    case spv::Op::OpNoLine:
    case spv::Op::OpExtInst:
    case spv::Op::OpVariable:
    case spv::Op::OpLoad:
    case spv::Op::OpStore:
    case spv::Op::OpAccessChain:
    case spv::Op::OpInBoundsAccessChain:
    case spv::Op::OpTerminateInvocation:
    case spv::Op::OpDemoteToHelperInvocation:
      return true;
    default:
      return false;
  }
}

// "with constant n = 4, constant m = 2"; every one of them, as the validator
// does not say which it minds.
std::string AllValues(const ModuleConstants& constants) {
  std::vector<uint32_t> results;
  for (const DeclaredConstant& constant : constants.declared()) {
    results.push_back(constant.result);
  }
  return constants.Describe(results);
}

}  // namespace

ConstantFreezer::ConstantFreezer(const ModuleConstants& constants,
                                 uint32_t bound)
    : constants_(constants), bound_(bound) {
  for (const DeclaredConstant& constant : constants.declared()) {
    declared_[constant.result] = &constant;
  }
}

void ConstantFreezer::Append(const Instruction& instruction,
                             std::vector<uint32_t>& out) {
  switch (OpOf(instruction)) {
    case spv::Op::OpDecorate:
      if (static_cast<spv::Decoration>(instruction.word(2)) !=
          spv::Decoration::SpecId) {
        CopyInstruction(instruction, out);
      }
      return;
    case spv::Op::OpSpecConstantTrue:
    case spv::Op::OpSpecConstantFalse:
    case spv::Op::OpSpecConstant:
      AppendDeclared(instruction, out);
      return;
    case spv::Op::OpSpecConstantComposite:
      AppendComposite(instruction, out);
      return;
    case spv::Op::OpSpecConstantOp:
      AppendComputed(instruction, out);
      return;
    default:
      CopyInstruction(instruction, out);
      return;
  }
}

void AppendScalarConstant(const NumericType& type, uint32_t type_id,
                          uint32_t result, uint64_t value,
                          std::vector<uint32_t>& out) {
  if (type.kind == NumericType::Kind::kBool) {
    AppendConstant(
        value != 0 ? spv::Op::OpConstantTrue : spv::Op::OpConstantFalse,
        type_id, result, {}, out);
    return;
  }
  // SPIR-V keeps a signed integer narrower than a word sign-extended.
  const uint64_t bits =
      type.is_signed ? static_cast<uint64_t>(SignExtend(value, type.bits))
                     : value;
  const uint32_t words[] = {static_cast<uint32_t>(bits),
                            static_cast<uint32_t>(bits >> 32)};
  AppendConstant(spv::Op::OpConstant, type_id, result,
                 std::span(words, type.bits == 64 ? 2 : 1), out);
}

void ConstantFreezer::AppendDeclared(const Instruction& instruction,
                                     std::vector<uint32_t>& out) const {
  const uint32_t type_id = instruction.word(1);
  const VectorType* type = constants_.FindType(type_id);
  const auto declared = declared_.find(instruction.word(2));
  if (type == nullptr || declared == declared_.end()) {
    CopyInstruction(instruction, out);
    return;
  }
  AppendScalarConstant(type->lane, type_id, instruction.word(2),
                       declared->second->value, out);
}

void ConstantFreezer::AppendComposite(const Instruction& instruction,
                                      std::vector<uint32_t>& out) {
  if (instruction.words.size() < 3) {
    CopyInstruction(instruction, out);  // damaged; the validator's business
    return;
  }
  const auto parts = instruction.words.subspan(3);
  const bool left = std::ranges::any_of(
      parts, [this](uint32_t id) { return unfolded_.contains(id); });
  if (left) {
    unfolded_.insert(instruction.word(2));
    CopyInstruction(instruction, out);
    return;
  }
  AppendConstant(spv::Op::OpConstantComposite, instruction.word(1),
                 instruction.word(2), parts, out);
}

void ConstantFreezer::AppendComputed(const Instruction& instruction,
                                     std::vector<uint32_t>& out) {
  const uint32_t type_id = instruction.word(1);
  const VectorType* type = constants_.FindType(type_id);
  const std::optional<NumericValue> value =
      constants_.Value(instruction.word(2));
  if (type == nullptr || !value || value->lanes.size() != type->lanes) {
    unfolded_.insert(instruction.word(2));
    CopyInstruction(instruction, out);
    return;
  }
  if (type->lanes == 1) {
    AppendScalarConstant(type->lane, type_id, instruction.word(2),
                         value->lanes[0], out);
    return;
  }
  std::vector<uint32_t> lanes;
  for (const uint64_t lane : value->lanes) {
    lanes.push_back(LaneId(*type, lane, out));
  }
  AppendConstant(spv::Op::OpConstantComposite, type_id, instruction.word(2),
                 lanes, out);
}

// The id of a constant of `type`'s lane type, made here if it is the first.
uint32_t ConstantFreezer::LaneId(const VectorType& type, uint64_t value,
                                 std::vector<uint32_t>& out) {
  const auto [lane, is_new] =
      lane_ids_.try_emplace({type.lane_type, value}, bound_);
  if (is_new) {
    ++bound_;
    AppendScalarConstant(type.lane, type.lane_type, lane->second, value, out);
  }
  return lane->second;
}

bool ValuesDecideValidity(std::span<const uint32_t> spirv) {
  std::unordered_set<uint32_t> specialized;
  bool in_functions = false;
  bool decide = false;
  std::vector<uint32_t> named_before;  // by OpExecutionModeId, OpDecorate
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    const spv::Op op = OpOf(instruction);
    in_functions |= op == spv::Op::OpFunction;
    if (op >= spv::Op::OpSpecConstantTrue && op <= spv::Op::OpSpecConstantOp) {
      specialized.insert(instruction.word(2));
    } else if (op == spv::Op::OpExecutionModeId) {
      named_before.insert(named_before.end(), instruction.words.begin() + 1,
                          instruction.words.end());
    } else if (op == spv::Op::OpDecorate &&
               static_cast<spv::Decoration>(instruction.word(2)) ==
                   spv::Decoration::BuiltIn) {
      named_before.push_back(instruction.word(1));
    } else if (op == spv::Op::OpTypeArray ||
               (in_functions && !TakesAnyValue(op))) {
      decide |= std::ranges::any_of(
          instruction.words.subspan(1),
          [&](uint32_t word) { return specialized.contains(word); });
    }
  });
  return decide || std::ranges::any_of(named_before, [&](uint32_t id) {
           return specialized.contains(id);
         });
}

absl::StatusOr<std::vector<uint32_t>> FreezeConstants(
    std::span<const uint32_t> spirv, std::span<const Constant> constants,
    Revalidation revalidation) {
  KILN_ASSIGN_OR_RETURN(ModuleConstants module, ModuleConstants::Parse(spirv));
  KILN_RETURN_IF_ERROR(module.Set(constants));
  // Also keeps the validator from what takes it as long as an array is.
  KILN_RETURN_IF_ERROR(
      CheckModuleLimits(spirv, module, ModuleLimits::OfNoDevice()));
  // Folding a vector may add instructions for its lanes; few do.
  std::vector<uint32_t> frozen;
  frozen.reserve(spirv.size() + spirv.size() / 16);
  const auto header = spirv.first(kSpirvHeaderWords);
  frozen.assign(header.begin(), header.end());
  ConstantFreezer freezer(module, spirv[kBoundWord]);
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    freezer.Append(instruction, frozen);
  });
  frozen[kBoundWord] = freezer.bound();
  const bool validate = revalidation == Revalidation::kAlways ||
                        (revalidation == Revalidation::kWhereValuesMatter &&
                         ValuesDecideValidity(spirv));
  if (!validate) {
    return frozen;
  }
  if (absl::Status valid = ValidateModule(frozen); !valid.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("with {} the module is invalid: {}", AllValues(module),
                    std::string(valid.message())));
  }
  return frozen;
}

}  // namespace kiln::shaders
