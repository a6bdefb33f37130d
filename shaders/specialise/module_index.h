// SPDX-License-Identifier: Apache-2.0
#pragma once

// The instructions of one module, decoded once: where each one's ids are, what
// defines an id, and what may be said of an instruction whatever the values of
// the constants. SPIRV-Tools' parser says which words are ids, so that this is
// right for every opcode that the validator lets pass. Internal to this folder.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <spirv/unified1/spirv.hpp11>

#include "absl/status/statusor.h"
#include "proto/spirv_view.h"

namespace kiln::specialise {

// No instruction, block, edge or function.
inline constexpr uint32_t kNone = 0xffffffff;

struct IndexedInstruction {
  uint32_t begin = 0;  // its first word in the module
  uint32_t type = 0;   // ids; 0 if it has none
  uint32_t result = 0;
  uint32_t first_id = 0;  // of id_offsets
  uint16_t id_count = 0;
  uint16_t word_count = 0;
  spv::Op op = spv::Op::OpNop;
  bool removable = false;  // no effect but its result
  bool debug_info = false;
};

// Thread-safe. Owns the words. Not movable: others keep views of them.
class ModuleIndex {
 public:
  // Errors: InvalidArgument when SPIRV-Tools cannot read the words.
  static absl::StatusOr<std::unique_ptr<const ModuleIndex>> Make(
      std::vector<uint32_t> spirv);

  ~ModuleIndex() = default;
  ModuleIndex(const ModuleIndex&) = delete;
  ModuleIndex& operator=(const ModuleIndex&) = delete;

  std::span<const uint32_t> spirv() const { return spirv_; }

  // All ids are below it.
  uint32_t bound() const { return spirv_[3]; }

  const std::vector<IndexedInstruction>& instructions() const {
    return instructions_;
  }

  const IndexedInstruction& at(uint32_t index) const {
    return instructions_[index];
  }

  Instruction View(uint32_t index) const {
    const IndexedInstruction& at = instructions_[index];
    return {static_cast<uint16_t>(at.op),
            std::span(spirv_).subspan(at.begin, at.word_count)};
  }

  uint32_t Word(uint32_t index, size_t offset) const {
    return spirv_[instructions_[index].begin + offset];
  }

  // Where, in words from its start, the instruction has ids; its result is not
  // among them, its type is.
  std::span<const uint16_t> IdOffsets(uint32_t index) const {
    return std::span(id_offsets_)
        .subspan(instructions_[index].first_id, instructions_[index].id_count);
  }

  // The instruction that makes `id`, or kNone.
  uint32_t DefinitionOf(uint32_t id) const { return definitions_[id]; }

  // OpNop if nothing defines it.
  spv::Op OpOfId(uint32_t id) const {
    return definitions_[id] == kNone ? spv::Op::OpNop
                                     : instructions_[definitions_[id]].op;
  }

  // The first OpFunction; the number of instructions if there is none.
  uint32_t first_function() const { return first_function_; }

  // By any decoration but SpecId, also through a group.
  bool IsDecorated(uint32_t id) const { return decorated_[id]; }

  // The variable that a pointer is into: itself, or what an access chain
  // starts from. 0 when that is not plain.
  uint32_t RootVariable(uint32_t id) const { return roots_[id]; }

  // Requires: `variable` is an OpVariable's.
  spv::StorageClass StorageOf(uint32_t variable) const {
    return static_cast<spv::StorageClass>(Word(DefinitionOf(variable), 3));
  }

 private:
  friend class IndexBuilder;
  ModuleIndex() = default;

  std::vector<uint32_t> spirv_;
  std::vector<IndexedInstruction> instructions_;
  std::vector<uint16_t> id_offsets_;
  std::vector<uint32_t> definitions_;  // by id
  std::vector<uint32_t> roots_;        // by id
  std::vector<bool> decorated_;        // by id
  uint32_t first_function_ = 0;
};

}  // namespace kiln::specialise
