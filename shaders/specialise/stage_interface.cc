// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/stage_interface.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "proto/spirv_view.h"
#include "shaders/spirv_op.h"

namespace kiln::specialise {
namespace {

using shaders::OpOf;

// More than any device has; what is larger is not looked at.
constexpr uint32_t kMaxLocations = 4096;
constexpr uint8_t kAllComponents = 0xF;
constexpr uint32_t kWholeVariable = 0xFFFFFFFF;  // as a member: none

// What is said of a variable, of a type or of a member of it.
struct Decorations {
  std::optional<uint32_t> location;
  uint32_t component = 0;
  bool special = false;  // it is not known by its location
  bool built_in = false;
};

// How a type lies in locations.
struct Extent {
  uint32_t locations = 0;               // 0: not known
  uint8_t components = kAllComponents;  // of each, from component 0 on
};

class InterfaceReader {
 public:
  void Visit(const Instruction& instruction);
  StageInterface Take();

 private:
  void VisitEntryPoint(const Instruction& instruction);
  void Decorate(uint32_t id, uint32_t member, const Instruction& instruction,
                size_t at);
  void AddType(const Instruction& instruction);
  Extent ExtentOf(uint32_t type) const;
  void Place(InterfaceVariable& variable, uint32_t type) const;
  void PlaceMembers(InterfaceVariable& variable, uint32_t type,
                    std::optional<uint32_t> location) const;
  static void Occupy(InterfaceVariable& variable, uint32_t location,
                     const Extent& extent, uint32_t component);
  const Decorations& Of(uint32_t id, uint32_t member) const;

  StageInterface interface_;
  std::unordered_map<uint64_t, Decorations> decorations_;
  std::unordered_map<uint32_t, Extent> extents_;                 // of types
  std::unordered_map<uint32_t, std::vector<uint32_t>> structs_;  // members
  std::unordered_map<uint32_t, uint32_t> pointees_;
  std::unordered_map<uint32_t, uint32_t> lengths_;  // of OpConstant
};

uint64_t DecorationKey(uint32_t id, uint32_t member) {
  return uint64_t{id} << 32 | member;
}

const Decorations& InterfaceReader::Of(uint32_t id, uint32_t member) const {
  static const Decorations nothing;
  const auto found = decorations_.find(DecorationKey(id, member));
  return found == decorations_.end() ? nothing : found->second;
}

void InterfaceReader::VisitEntryPoint(const Instruction& instruction) {
  if (interface_.entry_points++ == 0) {
    interface_.model = static_cast<spv::ExecutionModel>(instruction.word(1));
  }
}

void InterfaceReader::Decorate(uint32_t id, uint32_t member,
                               const Instruction& instruction, size_t at) {
  switch (static_cast<spv::Decoration>(instruction.word(at))) {
    case spv::Decoration::Location:
      decorations_[DecorationKey(id, member)].location =
          instruction.word(at + 1);
      return;
    case spv::Decoration::Component:
      decorations_[DecorationKey(id, member)].component =
          instruction.word(at + 1);
      return;
    case spv::Decoration::BuiltIn:
      decorations_[DecorationKey(id, member)].built_in = true;
      decorations_[DecorationKey(id, member)].special = true;
      return;
    case spv::Decoration::Patch:
    case spv::Decoration::PerPrimitiveEXT:
    case spv::Decoration::PerVertexKHR:
    case spv::Decoration::Stream:
      decorations_[DecorationKey(id, member)].special = true;
      return;
    case spv::Decoration::XfbBuffer:
    case spv::Decoration::XfbStride:
      interface_.captures = true;
      return;
    default:
      return;
  }
}

void InterfaceReader::AddType(const Instruction& instruction) {
  const uint32_t id = instruction.word(1);
  const uint32_t bits = instruction.word(2);
  switch (OpOf(instruction)) {
    case spv::Op::OpTypeBool:
      extents_[id] = {1, 1};
      return;
    case spv::Op::OpTypeInt:
    case spv::Op::OpTypeFloat:
      extents_[id] = {1, bits == 64 ? kAllComponents : uint8_t{1}};
      return;
    case spv::Op::OpTypeVector: {
      const uint32_t lanes = std::min(instruction.word(3), 4U);
      const bool wide = ExtentOf(bits).components == kAllComponents;
      extents_[id] = wide ? Extent{lanes > 2 ? 2U : 1U, kAllComponents}
                          : Extent{1, static_cast<uint8_t>((1U << lanes) - 1)};
      return;
    }
    case spv::Op::OpTypeMatrix:
    case spv::Op::OpTypeArray: {
      const Extent inner = ExtentOf(bits);
      const auto length = lengths_.find(instruction.word(3));
      const uint64_t count = OpOf(instruction) == spv::Op::OpTypeMatrix
                                 ? instruction.word(3)
                             : length == lengths_.end() ? 0
                                                        : length->second;
      const uint64_t total = count * inner.locations;
      extents_[id] = {total > kMaxLocations ? 0 : static_cast<uint32_t>(total),
                      inner.components};
      return;
    }
    case spv::Op::OpTypeStruct: {
      Extent whole;
      bool known = true;
      std::vector<uint32_t>& members = structs_[id];
      for (const uint32_t member : instruction.words.subspan(2)) {
        members.push_back(member);
        known &= ExtentOf(member).locations != 0;
        whole.locations += ExtentOf(member).locations;
      }
      extents_[id] =
          known && whole.locations <= kMaxLocations ? whole : Extent{};
      return;
    }
    default:
      return;
  }
}

Extent InterfaceReader::ExtentOf(uint32_t type) const {
  const auto found = extents_.find(type);
  return found == extents_.end() ? Extent() : found->second;
}

void InterfaceReader::Occupy(InterfaceVariable& variable, uint32_t location,
                             const Extent& extent, uint32_t component) {
  variable.plain &= extent.locations != 0 && location < kMaxLocations;
  for (uint32_t i = 0; i < extent.locations && variable.plain; ++i) {
    variable.slots[location + i] |= static_cast<uint8_t>(
        extent.components << std::min(component, 3U) & kAllComponents);
  }
}

void InterfaceReader::PlaceMembers(InterfaceVariable& variable, uint32_t type,
                                   std::optional<uint32_t> location) const {
  const std::vector<uint32_t>& members = structs_.at(type);
  variable.is_built_in = !members.empty();
  for (uint32_t i = 0; i < members.size(); ++i) {
    variable.is_built_in &= Of(type, i).built_in;
  }
  for (uint32_t i = 0; i < members.size(); ++i) {
    const Decorations& member = Of(type, i);
    location = member.location ? member.location : location;
    if (!location || member.special) {
      variable.plain = false;
      return;
    }
    const Extent extent = ExtentOf(members[i]);
    Occupy(variable, *location, extent, member.component);
    *location += extent.locations;
  }
}

void InterfaceReader::Place(InterfaceVariable& variable, uint32_t type) const {
  const Decorations& whole = Of(variable.id, kWholeVariable);
  variable.plain = !whole.special;
  variable.is_built_in = whole.built_in;
  if (!variable.plain) {
    return;
  }
  if (structs_.contains(type)) {
    PlaceMembers(variable, type, whole.location);
  } else if (whole.location) {
    Occupy(variable, *whole.location, ExtentOf(type), whole.component);
  } else {
    variable.plain = false;
  }
}

void InterfaceReader::Visit(const Instruction& instruction) {
  switch (OpOf(instruction)) {
    case spv::Op::OpEntryPoint:
      VisitEntryPoint(instruction);
      return;
    case spv::Op::OpExecutionMode:
      interface_.captures |=
          static_cast<spv::ExecutionMode>(instruction.word(2)) ==
          spv::ExecutionMode::Xfb;
      return;
    case spv::Op::OpDecorate:
      Decorate(instruction.word(1), kWholeVariable, instruction, 2);
      return;
    case spv::Op::OpMemberDecorate:
      Decorate(instruction.word(1), instruction.word(2), instruction, 3);
      return;
    case spv::Op::OpConstant:
      if (instruction.words.size() == 4) {
        lengths_[instruction.word(2)] = instruction.word(3);
      }
      return;
    case spv::Op::OpTypePointer:
      pointees_[instruction.word(1)] = instruction.word(3);
      return;
    case spv::Op::OpVariable: {
      const auto storage = static_cast<spv::StorageClass>(instruction.word(3));
      if (storage == spv::StorageClass::Input ||
          storage == spv::StorageClass::Output) {
        InterfaceVariable& variable = interface_.variables.emplace_back();
        variable.id = instruction.word(2);
        variable.storage = storage;
        Place(variable, pointees_[instruction.word(1)]);
      }
      return;
    }
    default:
      AddType(instruction);
      return;
  }
}

StageInterface InterfaceReader::Take() {
  return std::move(interface_);
}

}  // namespace

absl::StatusOr<StageInterface> ReadStageInterface(
    std::span<const uint32_t> spirv) {
  InterfaceReader reader;
  bool in_functions = false;
  if (!ForEachInstruction(spirv, [&](const Instruction& instruction) {
        in_functions |= OpOf(instruction) == spv::Op::OpFunction;
        if (!in_functions) {
          reader.Visit(instruction);
        }
      })) {
    return absl::InvalidArgumentError("the words are no SPIR-V module");
  }
  return reader.Take();
}

}  // namespace kiln::specialise
