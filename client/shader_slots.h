// SPDX-License-Identifier: Apache-2.0
#pragma once

// What threads that record read of the shader library, without a lock.
// Internal; engines use library.h.

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/shader_handle.h"

namespace kiln::client {

// By slot: the (id, generation) of the entry there, and what it stands for.
//
// An entry clears its id before its pointer, the next in that slot sets its own
// id before its first pointer, and ids do not come back. So whoever has a
// handle reads its pointer or a later entry's, and the id seen after that tells
// which.
//
// Slots are found without a lock while others are added, because they are made
// in blocks of 64, 128, 256.. that never move.
class SlotTable {
 public:
  // --- Any thread. ---

  // Returns: null for what is not compiled or has ended. Never looks at what
  // the pointer points to.
  const ResolvedShader* Read(ShaderHandle handle) const {
    const Slot* slot = Find(handle);
    if (slot == nullptr) {
      return nullptr;
    }
    const ResolvedShader* shader = slot->shader.load(std::memory_order_acquire);
    return State(*slot, handle) != 0 ? shader : nullptr;
  }

  // Returns: (id, generation); 0 for what has ended.
  uint64_t State(ShaderHandle handle) const {
    const Slot* slot = Find(handle);
    return slot == nullptr ? 0 : State(*slot, handle);
  }

  // --- One thread at a time. ---

  // Begins an entry. Requires: its slot is empty.
  void Begin(ShaderHandle handle) {
    Make(handle.slot)
        .state.store(uint64_t{handle.id} << 32, std::memory_order_release);
  }

  // Requires: begun. Lifetime: readers may use the last `shader`, too.
  void Set(uint32_t number, const ResolvedShader* shader) {
    Slot& slot = Make(number);
    slot.shader.store(shader, std::memory_order_release);
    slot.state.store(shader->pipeline_hash(), std::memory_order_release);
  }

  void Clear(uint32_t number) {
    Slot& slot = Make(number);
    slot.state.store(0, std::memory_order_release);
    slot.shader.store(nullptr, std::memory_order_release);
  }

 private:
  static constexpr uint64_t kFirstBlock = 64;
  static constexpr size_t kBlocks = 27;  // enough for every uint32_t

  struct Slot {
    std::atomic<uint64_t> state{0};
    std::atomic<const ResolvedShader*> shader{nullptr};
  };

  struct Place {
    size_t block = 0;
    uint64_t index = 0;
  };

  static Place PlaceOf(uint32_t number) {
    const uint64_t from_first = number + kFirstBlock;
    const size_t block = std::bit_width(from_first / kFirstBlock) - 1;
    return {block, from_first - (kFirstBlock << block)};
  }

  static uint64_t State(const Slot& slot, ShaderHandle handle) {
    const uint64_t state = slot.state.load(std::memory_order_acquire);
    return state >> 32 == handle.id ? state : 0;
  }

  const Slot* Find(ShaderHandle handle) const {
    if (!handle) {
      return nullptr;
    }
    const Place place = PlaceOf(handle.slot);
    const Slot* slots = blocks_[place.block].load(std::memory_order_acquire);
    return slots == nullptr ? nullptr : slots + place.index;
  }

  Slot& Make(uint32_t number) {
    const Place place = PlaceOf(number);
    std::unique_ptr<Slot[]>& owned = owned_[place.block];
    if (owned == nullptr) {
      owned = std::make_unique<Slot[]>(kFirstBlock << place.block);
      blocks_[place.block].store(owned.get(), std::memory_order_release);
    }
    return owned[place.index];
  }

  std::array<std::atomic<Slot*>, kBlocks> blocks_{};
  std::array<std::unique_ptr<Slot[]>, kBlocks>
      owned_;  // what blocks_ points to
};

}  // namespace kiln::client
