// SPDX-License-Identifier: Apache-2.0
#include "shaders/module_sizes.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <spirv/unified1/spirv.hpp11>

#include "proto/limits.h"
#include "proto/text.h"
#include "shaders/spirv_op.h"

namespace kiln::shaders {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

uint64_t MemberKey(uint32_t type, uint32_t member) {
  return (uint64_t{type} << 32) | member;
}

// A vector of three is aligned as one of four.
uint64_t VectorAlignment(uint64_t lanes, uint64_t lane_bytes) {
  return (lanes == 3 ? 4 : lanes) * lane_bytes;
}

// The length of an array, or nothing when it is not above zero or unknown.
std::optional<uint64_t> Length(const ModuleConstants& constants,
                               uint32_t length) {
  const std::optional<NumericValue> value = constants.Value(length);
  if (!value || value->lanes.size() != 1 ||
      value->type.kind != NumericType::Kind::kInt || value->lanes[0] == 0) {
    return std::nullopt;
  }
  if (value->type.is_signed &&
      SignExtend(value->lanes[0], value->type.bits) < 0) {
    return std::nullopt;
  }
  return value->lanes[0];
}

}  // namespace

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMost : sum;
}

uint64_t SaturatingMultiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  const uint64_t past = value % std::max<uint64_t>(alignment, 1);
  return past == 0 ? value : SaturatingAdd(value, alignment - past);
}

ModuleSizes::ModuleSizes(std::span<const uint32_t> spirv,
                         const ModuleConstants& constants)
    : constants_(constants) {
  ForEachInstruction(
      spirv, [this](const Instruction& instruction) { Visit(instruction); });
}

void ModuleSizes::Visit(const Instruction& instruction) {
  if (instruction.words.size() < 2) {
    return;
  }
  const uint32_t type = instruction.word(1);  // of a variable: its pointer's
  switch (OpOf(instruction)) {
    case spv::Op::OpDecorate:
    case spv::Op::OpMemberDecorate:
      Decorate(instruction);
      return;
    case spv::Op::OpTypeBool:
    case spv::Op::OpTypeInt:
    case spv::Op::OpTypeFloat:
    case spv::Op::OpTypeVector:
    case spv::Op::OpTypeMatrix:
      sizes_[type] = SizeOfNumeric(instruction);
      break;
    case spv::Op::OpTypeArray:
      arrays_.push_back(type);
      sizes_[type] = SizeOfArray(instruction);
      break;
    case spv::Op::OpTypeRuntimeArray:
      sizes_[type].bad_array = SizeOf(instruction.word(2)).bad_array;
      break;
    case spv::Op::OpTypeStruct:
      sizes_[type] = SizeOfStruct(instruction);
      break;
    case spv::Op::OpTypePointer:
      if (static_cast<spv::StorageClass>(instruction.word(2)) ==
          spv::StorageClass::PhysicalStorageBuffer) {
        sizes_[type] = {.bytes = 8, .alignment = 8, .components = 2};
      }
      break;
    case spv::Op::OpVariable: {
      const auto pointer = types_.find(type);
      if (pointer != types_.end()) {
        variables_.push_back({instruction.word(2), pointer->second.word(3),
                              instruction.word(3)});
      }
      return;
    }
    default:
      return;
  }
  types_[type] = instruction;
}

void ModuleSizes::Decorate(const Instruction& instruction) {
  if (OpOf(instruction) == spv::Op::OpDecorate) {
    const auto decoration = static_cast<spv::Decoration>(instruction.word(2));
    if (decoration == spv::Decoration::ArrayStride) {
      strides_[instruction.word(1)] = instruction.word(3);
    } else if (decoration == spv::Decoration::Block) {
      blocks_.insert(instruction.word(1));
    }
  } else if (static_cast<spv::Decoration>(instruction.word(3)) ==
             spv::Decoration::Offset) {
    offsets_[MemberKey(instruction.word(1), instruction.word(2))] =
        instruction.word(4);
  }
}

TypeSize ModuleSizes::SizeOfNumeric(const Instruction& instruction) const {
  const spv::Op op = OpOf(instruction);
  if (op == spv::Op::OpTypeBool) {
    return {.bytes = 4, .alignment = 4, .components = 1};
  }
  if (op == spv::Op::OpTypeInt || op == spv::Op::OpTypeFloat) {
    const uint64_t bytes = instruction.word(2) / 8;
    return {
        .bytes = bytes, .alignment = bytes, .components = bytes > 4 ? 2U : 1U};
  }
  TypeSize size = SizeOf(instruction.word(2));
  const uint64_t count = instruction.word(3);
  size.components = SaturatingMultiply(size.components, count);
  if (op == spv::Op::OpTypeVector) {
    size.alignment = VectorAlignment(count, size.bytes);
    size.bytes *= count;
  } else {  // a matrix is an array of its columns
    size.bytes = AlignUp(size.bytes, size.alignment) * count;
  }
  return size;
}

TypeSize ModuleSizes::SizeOfArray(const Instruction& instruction) const {
  TypeSize size = SizeOf(instruction.word(2));
  const std::optional<uint64_t> length =
      Length(constants_, instruction.word(3));
  if (!length) {
    size.bad_array = instruction.word(1);
    return size;
  }
  const auto stride = strides_.find(instruction.word(1));
  const uint64_t step = stride == strides_.end()
                            ? AlignUp(size.bytes, size.alignment)
                            : stride->second;
  size.bytes = SaturatingMultiply(step, *length);
  size.components = SaturatingMultiply(size.components, *length);
  size.descriptors = SaturatingMultiply(size.descriptors, *length);
  return size;
}

TypeSize ModuleSizes::SizeOfStruct(const Instruction& instruction) const {
  TypeSize size;
  for (uint32_t i = 0; i + 2 < instruction.words.size(); ++i) {
    const TypeSize& member = SizeOf(instruction.word(2 + i));
    const auto offset = offsets_.find(MemberKey(instruction.word(1), i));
    const uint64_t start = offset == offsets_.end()
                               ? AlignUp(size.bytes, member.alignment)
                               : offset->second;
    size.bytes = std::max(size.bytes, SaturatingAdd(start, member.bytes));
    size.alignment = std::max(size.alignment, member.alignment);
    size.components = SaturatingAdd(size.components, member.components);
    if (size.bad_array == 0) {
      size.bad_array = member.bad_array;
    }
  }
  size.bytes = AlignUp(size.bytes, size.alignment);
  return size;
}

const TypeSize& ModuleSizes::SizeOf(uint32_t type) const {
  static const TypeSize kOpaque;
  const auto found = sizes_.find(type);
  return found == sizes_.end() ? kOpaque : found->second;
}

std::vector<uint32_t> ModuleSizes::LengthsIn(uint32_t type) const {
  std::vector<uint32_t> lengths;
  std::vector<uint32_t> waiting = {type};
  std::set<uint32_t> seen;
  while (!waiting.empty()) {
    const auto found = types_.find(waiting.back());
    waiting.pop_back();
    if (found == types_.end() || !seen.insert(found->first).second) {
      continue;
    }
    const Instruction& instruction = found->second;
    if (OpOf(instruction) == spv::Op::OpTypeArray) {
      lengths.push_back(instruction.word(3));
      waiting.push_back(instruction.word(2));
    } else if (OpOf(instruction) == spv::Op::OpTypeStruct) {
      waiting.insert(waiting.end(), instruction.words.begin() + 2,
                     instruction.words.end());
    }
  }
  return lengths;
}

std::string ModuleSizes::PathTo(const ModuleVariable& variable,
                                uint32_t inner) const {
  std::string path(constants_.NameOf(variable.result));
  uint32_t type = variable.type;
  // Types nest 255 deep at most; a damaged module could be a circle.
  for (int depth = 0; depth < 256 && type != inner; ++depth) {
    const auto found = types_.find(type);
    if (found == types_.end()) {
      break;
    }
    const Instruction& instruction = found->second;
    uint32_t next = instruction.word(2);  // the element of an array
    if (OpOf(instruction) == spv::Op::OpTypeStruct) {
      uint32_t member = 0;
      while (member + 3 < instruction.words.size() &&
             SizeOf(instruction.word(2 + member)).bad_array != inner) {
        ++member;
      }
      next = instruction.word(2 + member);
      path += path.empty() ? "" : ".";
      path += constants_.MemberNameOf(type, member);
    }
    type = next;
  }
  return Shorten(ToValidUtf8(path), limits::kNameBytes);
}

std::string ModuleSizes::LengthText(uint32_t array) const {
  const auto found = types_.find(array);
  const std::optional<NumericValue> value =
      found == types_.end() ? std::nullopt
                            : constants_.Value(found->second.word(3));
  if (!value || value->lanes.size() != 1) {
    return "unknown";
  }
  return value->type.is_signed
             ? fmt::format("{}", SignExtend(value->lanes[0], value->type.bits))
             : fmt::format("{}", value->lanes[0]);
}

}  // namespace kiln::shaders
