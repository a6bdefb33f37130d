// SPDX-License-Identifier: Apache-2.0
#include "shaders/lint/module.h"

#include <algorithm>

namespace kiln::shaders::lint {
namespace {

using spv::Op;

// Well above what SPIR-V allows programs (255 would do); below what recursion
// over a type could not stand.
constexpr uint32_t kTypeDepth = 256;

// Whether words 1 and 2 are result type and result, for the instructions whose
// results the rules look up.
bool MakesValue(Op op) {
  switch (op) {
    case Op::OpLoad:
    case Op::OpVariable:
    case Op::OpFunctionCall:
    case Op::OpPhi:
    case Op::OpCopyLogical:
    case Op::OpCompositeConstruct:
    case Op::OpCompositeExtract:
    case Op::OpCompositeInsert:
    case Op::OpCopyObject:
      return true;
    default:  // conversions, arithmetic, comparisons
      return op >= Op::OpConvertFToU && op <= Op::OpFwidthCoarse;
  }
}

bool IsConstantOp(Op op) {
  return (op >= Op::OpConstantTrue && op <= Op::OpConstantNull) ||
         (op >= Op::OpSpecConstantTrue && op <= Op::OpSpecConstantOp);
}

bool IsLocal(spv::StorageClass storage) {
  return storage == spv::StorageClass::Function ||
         storage == spv::StorageClass::Private;
}

template <typename Map>
auto ValueOr(const Map& map, const typename Map::key_type& key,
             typename Map::mapped_type otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}

}  // namespace

uint32_t Type::count() const {
  return op == Op::OpTypeStruct ? static_cast<uint32_t>(parts.size()) : length;
}

uint32_t Type::Part(uint32_t index) const {
  if (op != Op::OpTypeStruct) {
    index = 0;
  }
  return index < parts.size() ? parts[index] : 0;
}

const Statement* Function::Definition(uint32_t value) const {
  const auto found = definitions.find(value);
  return found == definitions.end() ? nullptr : &statements[found->second];
}

Module::Module(std::span<const uint32_t> spirv) {
  ForEachInstruction(
      spirv, [&](const Instruction& instruction) { Visit(instruction); });
}

const Type* Module::FindType(uint32_t id) const {
  const auto found = types_.find(id);
  return found == types_.end() ? nullptr : &found->second;
}

const Function* Module::FindFunction(uint32_t id) const {
  const auto found = function_index_.find(id);
  return found == function_index_.end() ? nullptr : &functions_[found->second];
}

uint32_t Module::LocalPointee(uint32_t id) const {
  const Type* type = FindType(ValueOr(pointer_types_, id, 0));
  const bool local = type != nullptr && type->op == Op::OpTypePointer &&
                     IsLocal(type->storage);
  return local ? type->Part(0) : 0;
}

std::optional<uint32_t> Module::ConstantValue(uint32_t id) const {
  return ValueOr(constants_, id, std::nullopt);
}

std::string_view Module::Name(uint32_t id) const {
  return ValueOr(names_, id, {});
}

std::string_view Module::MemberName(uint32_t struct_type,
                                    uint32_t member) const {
  return ValueOr(member_names_, {struct_type, member}, {});
}

std::string_view Module::FileName(const Place& place) const {
  return ValueOr(strings_, place.file, {});
}

void Module::Visit(const Instruction& instruction) {
  const Op op = static_cast<Op>(instruction.opcode);
  switch (op) {
    case Op::OpLine:
      place_ = {instruction.word(1), instruction.word(2)};
      break;
    case Op::OpNoLine:
      place_ = {};
      break;
    case Op::OpFunction:
      function_index_[instruction.word(2)] = functions_.size();
      functions_.push_back({instruction.word(2), {}, {}, {}});
      in_function_ = true;
      break;
    case Op::OpFunctionEnd:
      in_function_ = false;
      break;
    default:
      if (in_function_) {
        VisitBody(op, instruction);
      } else {
        VisitGlobal(op, instruction);
      }
  }
}

void Module::VisitGlobal(Op op, const Instruction& instruction) {
  switch (op) {
    case Op::OpString:
      strings_[instruction.word(1)] = LiteralText(instruction, 2);
      return;
    case Op::OpName:
      names_[instruction.word(1)] = LiteralText(instruction, 2);
      return;
    case Op::OpMemberName:
      member_names_[{instruction.word(1), instruction.word(2)}] =
          LiteralText(instruction, 3);
      return;
    case Op::OpEntryPoint:
      entry_points_.push_back(instruction.word(2));
      return;
    case Op::OpVariable:
      pointer_types_[instruction.word(2)] = instruction.word(1);
      if (LocalPointee(instruction.word(2)) != 0) {
        privates_.push_back({instruction, place_});
      }
      return;
    default:
      break;
  }
  if (IsConstantOp(op)) {
    std::optional<uint32_t>& value = constants_[instruction.word(2)];
    if (op == Op::OpConstant) {
      value = instruction.word(3);
    }
    return;
  }
  AddType(op, instruction);
}

void Module::AddType(Op op, const Instruction& instruction) {
  Type type;
  type.op = op;
  switch (op) {
    case Op::OpTypeInt:
    case Op::OpTypeFloat:
    case Op::OpTypeBool:
      break;
    case Op::OpTypeVector:
    case Op::OpTypeMatrix:
      type.parts = {instruction.word(2)};
      type.length = instruction.word(3);
      break;
    case Op::OpTypeArray:
      type.parts = {instruction.word(2)};
      type.length = ConstantValue(instruction.word(3)).value_or(0);
      break;
    case Op::OpTypeStruct:
      type.has_struct = true;
      for (size_t i = 2; i < instruction.words.size(); ++i) {
        type.parts.push_back(instruction.word(i));
      }
      break;
    case Op::OpTypePointer:
      type.storage = static_cast<spv::StorageClass>(instruction.word(2));
      type.parts = {instruction.word(3)};
      NotePointer(type);
      types_.emplace(instruction.word(1), std::move(type));
      return;
    default:
      return;  // images and the like: nothing to index or carry
  }
  for (uint32_t& id : type.parts) {
    const Type* part = FindType(id);
    if (part == nullptr) {
      id = 0;  // an image; or declared later, which could make a circle
    } else {
      type.depth = std::max(type.depth, part->depth + 1);
      type.has_struct |= part->has_struct;
      type.has_struct_array |=
          part->has_struct_array || (type.IsArray() && part->has_struct);
    }
  }
  if (type.depth < kTypeDepth) {
    types_.emplace(instruction.word(1), std::move(type));
  }
}

void Module::NotePointer(const Type& type) {
  const Type* pointee = FindType(type.Part(0));
  has_local_struct_arrays_ |=
      pointee != nullptr && pointee->has_struct_array && IsLocal(type.storage);
}

void Module::VisitBody(Op op, const Instruction& instruction) {
  Function& function = functions_.back();
  if (op == Op::OpFunctionParameter) {
    pointer_types_[instruction.word(2)] = instruction.word(1);
    function.parameters.push_back(instruction.word(2));
    return;
  }
  if (op == Op::OpVariable) {
    pointer_types_[instruction.word(2)] = instruction.word(1);
  }
  if (MakesValue(op)) {
    function.definitions[instruction.word(2)] = function.statements.size();
  }
  function.statements.push_back({instruction, place_});
}

}  // namespace kiln::shaders::lint
