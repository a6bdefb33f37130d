// SPDX-License-Identifier: Apache-2.0
#include "shaders/module_constants.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <spirv/unified1/spirv.hpp11>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/spirv_op.h"

namespace kiln::shaders {
namespace {

using Kind = NumericType::Kind;

std::optional<ConstantType> TypeFor(const NumericType& type) {
  using Key = std::tuple<Kind, uint32_t, bool>;
  static const auto* const kTypes = new std::map<Key, ConstantType>{
      {{Kind::kBool, 1, false}, ConstantType::kBool},
      {{Kind::kInt, 8, true}, ConstantType::kInt8},
      {{Kind::kInt, 8, false}, ConstantType::kUint8},
      {{Kind::kInt, 16, true}, ConstantType::kInt16},
      {{Kind::kInt, 16, false}, ConstantType::kUint16},
      {{Kind::kInt, 32, true}, ConstantType::kInt32},
      {{Kind::kInt, 32, false}, ConstantType::kUint32},
      {{Kind::kInt, 64, true}, ConstantType::kInt64},
      {{Kind::kInt, 64, false}, ConstantType::kUint64},
      {{Kind::kFloat, 16, false}, ConstantType::kFloat16},
      {{Kind::kFloat, 32, false}, ConstantType::kFloat32},
      {{Kind::kFloat, 64, false}, ConstantType::kFloat64},
  };
  const auto found = kTypes->find({type.kind, type.bits, type.is_signed});
  return found == kTypes->end() ? std::nullopt
                                : std::optional<ConstantType>(found->second);
}

bool IsFloat(ConstantType type) {
  return type == ConstantType::kFloat16 || type == ConstantType::kFloat32 ||
         type == ConstantType::kFloat64;
}

std::string Printable(std::string_view name) {
  return Shorten(ToValidUtf8(name), limits::kNameBytes);
}

std::string NameWithId(uint32_t id, std::string_view name) {
  return name.empty() ? fmt::format("constant_id {}", id)
                      : "constant " + Printable(name);
}

absl::StatusOr<uint64_t> Fit(const Constant& constant, ConstantType type) {
  KILN_RETURN_IF_ERROR(CheckConstant(constant.type, constant.value));
  if (constant.type == type) {
    return constant.value;
  }
  if (IsFloat(type) || IsFloat(constant.type) ||
      constant.type == ConstantType::kBool) {
    return absl::InvalidArgumentError(
        fmt::format("the module declares it {}, the value is {}",
                    ConstantTypeName(type), ConstantTypeName(constant.type)));
  }
  return ParseConstant(type, FormatConstant(constant.type, constant.value));
}

}  // namespace

absl::StatusOr<ModuleConstants> ModuleConstants::Parse(
    std::span<const uint32_t> spirv) {
  ModuleConstants module;
  bool in_functions = false;
  if (!ForEachInstruction(spirv, [&](const Instruction& instruction) {
        in_functions |= OpOf(instruction) == spv::Op::OpFunction;
        if (!in_functions) {
          module.Visit(instruction);
        }
      })) {
    return absl::InvalidArgumentError("the words are no SPIR-V module");
  }
  KILN_RETURN_IF_ERROR(module.Finish());
  return module;
}

void ModuleConstants::Visit(const Instruction& instruction) {
  switch (OpOf(instruction)) {
    case spv::Op::OpName:
      names_[instruction.word(1)] = LiteralText(instruction, 2);
      return;
    case spv::Op::OpMemberName:
      member_names_[(uint64_t{instruction.word(1)} << 32) |
                    instruction.word(2)] = LiteralText(instruction, 3);
      return;
    case spv::Op::OpDecorate:
      if (static_cast<spv::Decoration>(instruction.word(2)) ==
          spv::Decoration::SpecId) {
        spec_ids_[instruction.word(1)] = instruction.word(3);
      } else if (static_cast<spv::Decoration>(instruction.word(2)) ==
                     spv::Decoration::BuiltIn &&
                 static_cast<spv::BuiltIn>(instruction.word(3)) ==
                     spv::BuiltIn::WorkgroupSize) {
        workgroup_size_ = instruction.word(1);
      }
      return;
    case spv::Op::OpTypeBool:
    case spv::Op::OpTypeInt:
    case spv::Op::OpTypeFloat:
    case spv::Op::OpTypeVector:
      AddType(instruction);
      return;
    default:
      AddConstant(instruction);
      return;
  }
}

void ModuleConstants::AddType(const Instruction& instruction) {
  const uint32_t id = instruction.word(1);
  const uint32_t bits = instruction.word(2);
  switch (OpOf(instruction)) {
    case spv::Op::OpTypeBool:
      types_[id] = {{Kind::kBool, 1, false}, id, 1};
      return;
    case spv::Op::OpTypeInt:
      if (bits == 8 || bits == 16 || bits == 32 || bits == 64) {
        types_[id] = {{Kind::kInt, bits, instruction.word(3) != 0}, id, 1};
      }
      return;
    case spv::Op::OpTypeFloat:
      if (bits == 16 || bits == 32 || bits == 64) {
        types_[id] = {{Kind::kFloat, bits, false}, id, 1};
      }
      return;
    default:
      break;
  }
  const auto lane = types_.find(instruction.word(2));
  const uint32_t lanes = instruction.word(3);
  // SPIR-V's vectors have 2 to 16 lanes.
  if (lane != types_.end() && lane->second.lanes == 1 && lanes >= 2 &&
      lanes <= 16) {
    types_[id] = {lane->second.lane, lane->first, lanes};
  }
}

void ModuleConstants::AddConstant(const Instruction& instruction) {
  if (instruction.words.size() < 3) {
    return;
  }
  switch (OpOf(instruction)) {
    case spv::Op::OpSpecConstantTrue:
    case spv::Op::OpSpecConstantFalse:
    case spv::Op::OpSpecConstant: {
      DeclaredConstant constant;
      constant.result = instruction.word(2);
      index_[constant.result] = declared_.size();
      declared_.push_back(constant);
      break;
    }
    case spv::Op::OpSpecConstantComposite:
    case spv::Op::OpSpecConstantOp:
      computed_.push_back(instruction);
      break;
    case spv::Op::OpConstantTrue:
    case spv::Op::OpConstantFalse:
    case spv::Op::OpConstant:
    case spv::Op::OpConstantComposite:
    case spv::Op::OpConstantNull:
      break;
    default:
      return;
  }
  constants_[instruction.word(2)] = instruction;
}

absl::Status ModuleConstants::Finish() {
  for (DeclaredConstant& constant : declared_) {
    const Instruction& instruction = constants_[constant.result];
    const VectorType* type = FindType(instruction.word(1));
    const std::optional<ConstantType> scalar =
        type == nullptr || type->lanes != 1 ? std::nullopt
                                            : TypeFor(type->lane);
    const auto id = spec_ids_.find(constant.result);
    if (id != spec_ids_.end()) {
      constant.constant_id = id->second;
    }
    constant.name = NameOf(constant.result);
    if (!scalar) {
      return absl::InvalidArgumentError(fmt::format(
          "{} is of a type that no constant can have", LabelOf(constant)));
    }
    constant.type = *scalar;
    constant.default_value =
        OpOf(instruction) == spv::Op::OpSpecConstant
            ? LiteralBits(instruction, type->lane.bits)
            : static_cast<uint64_t>(OpOf(instruction) ==
                                    spv::Op::OpSpecConstantTrue);
    constant.value = constant.default_value;
  }
  Evaluate();
  return absl::OkStatus();
}

absl::Status ModuleConstants::Set(std::span<const Constant> values) {
  labels_.clear();
  for (DeclaredConstant& constant : declared_) {
    constant.value = constant.default_value;
  }
  std::set<uint32_t> given;
  for (const Constant& constant : values) {
    KILN_ASSIGN_OR_RETURN(const uint32_t id, ResolveId(constant));
    if (!given.insert(id).second) {
      return absl::InvalidArgumentError(
          fmt::format("{} is given twice", NameWithId(id, constant.name)));
    }
    KILN_RETURN_IF_ERROR(SetOne(id, constant));
  }
  Evaluate();
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> ModuleConstants::ResolveId(
    const Constant& constant) const {
  if (constant.id != kIdByName) {
    return constant.id;
  }
  std::set<uint32_t> ids;
  for (const DeclaredConstant& declared : declared_) {
    if (declared.constant_id && !declared.name.empty() &&
        declared.name == constant.name) {
      ids.insert(*declared.constant_id);
    }
  }
  if (ids.size() == 1) {
    return *ids.begin();
  }
  const std::string name = Printable(constant.name);
  return absl::InvalidArgumentError(
      ids.empty()
          ? fmt::format("the module has no specialization constant '{}'", name)
          : fmt::format("specialization constants with ids {} are all called "
                        "'{}'; say which by its id",
                        fmt::join(ids, ", "), name));
}

absl::Status ModuleConstants::SetOne(uint32_t id, const Constant& constant) {
  bool known = false;
  for (DeclaredConstant& declared : declared_) {
    if (declared.constant_id != id) {
      continue;
    }
    known = true;
    const absl::StatusOr<uint64_t> value = Fit(constant, declared.type);
    if (!value.ok()) {
      return absl::InvalidArgumentError(
          fmt::format("{} = {}: {}",
                      constant.name.empty() ? LabelOf(declared)
                                            : NameWithId(id, constant.name),
                      FormatConstant(constant.type, constant.value),
                      std::string(value.status().message())));
    }
    declared.value = *value;
  }
  if (!known) {
    return absl::InvalidArgumentError(fmt::format(
        "the module has no specialization constant with constant_id {}{}", id,
        constant.name.empty() ? "" : ", " + Printable(constant.name)));
  }
  if (!constant.name.empty()) {
    labels_[id] = Printable(constant.name);
  }
  return absl::OkStatus();
}

const VectorType* ModuleConstants::FindType(uint32_t type) const {
  const auto found = types_.find(type);
  return found == types_.end() ? nullptr : &found->second;
}

std::string_view ModuleConstants::NameOf(uint32_t id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? std::string_view() : found->second;
}

std::string_view ModuleConstants::MemberNameOf(uint32_t type,
                                               uint32_t member) const {
  const auto found = member_names_.find((uint64_t{type} << 32) | member);
  return found == member_names_.end() ? std::string_view() : found->second;
}

std::string ModuleConstants::LabelOf(const DeclaredConstant& constant) const {
  if (!constant.constant_id) {
    return constant.name.empty() ? fmt::format("%{}", constant.result)
                                 : "constant " + Printable(constant.name);
  }
  if (const auto given = labels_.find(*constant.constant_id);
      given != labels_.end()) {
    return NameWithId(*constant.constant_id, given->second);
  }
  std::string_view name = constant.name;
  for (const DeclaredConstant& other : declared_) {
    if (name.empty() && other.constant_id == constant.constant_id) {
      name = other.name;
    }
  }
  return NameWithId(*constant.constant_id, name);
}

std::string ModuleConstants::Describe(std::span<const uint32_t> results) const {
  std::vector<std::string> texts;
  for (const size_t index : DecidedBy(results)) {
    const DeclaredConstant& constant = declared_[index];
    texts.push_back(fmt::format("{} = {}", LabelOf(constant),
                                FormatConstant(constant.type, constant.value)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace kiln::shaders
