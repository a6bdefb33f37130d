// SPDX-License-Identifier: Apache-2.0
#pragma once

// Walks the instructions of a SPIR-V module without decoding them. For the few
// facts that Kiln needs from a module; checking one is ValidateModule's job
// (shaders/compiler.h). Header-only.

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

namespace kiln {

// One instruction. Lifetime: that of the module.
struct Instruction {
  uint16_t opcode = 0;
  std::span<const uint32_t> words;  // with the opcode word

  // Word `index`, or 0 past the end (a module may be damaged).
  uint32_t word(size_t index) const {
    return index < words.size() ? words[index] : 0;
  }
};

inline constexpr uint32_t kSpirvMagic = 0x07230203;
inline constexpr size_t kSpirvHeaderWords = 5;

// Calls `visit(const Instruction&)` for every instruction.
// Returns: false when the words end in the middle of one, or are no SPIR-V.
template <typename Visit>
bool ForEachInstruction(std::span<const uint32_t> spirv, Visit visit) {
  if (spirv.size() < kSpirvHeaderWords || spirv[0] != kSpirvMagic) {
    return false;
  }
  for (size_t at = kSpirvHeaderWords; at < spirv.size();) {
    const size_t count = spirv[at] >> 16;
    if (count == 0 || count > spirv.size() - at) {
      return false;
    }
    visit(Instruction{static_cast<uint16_t>(spirv[at] & 0xFFFF),
                      spirv.subspan(at, count)});
    at += count;
  }
  return true;
}

// The literal string that starts at word `index`. Lifetime: that of the module.
inline std::string_view LiteralText(const Instruction& instruction,
                                    size_t index) {
  if (index >= instruction.words.size()) {
    return {};
  }
  std::span<const uint32_t> words = instruction.words.subspan(index);
  std::string_view text(reinterpret_cast<const char*>(words.data()),
                        words.size_bytes());
  return text.substr(0, text.find('\0'));
}

// The result ids of the specialization constants, by constant_id. One id can
// have several: `local_size_x_id` makes one or two without a name, beside the
// constant that the source declares with the same id.
inline std::multimap<uint32_t, uint32_t> SpecializationResults(
    std::span<const uint32_t> spirv) {
  constexpr uint16_t kOpDecorate = 71;
  constexpr uint32_t kSpecId = 1;
  std::multimap<uint32_t, uint32_t> results;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    if (instruction.opcode == kOpDecorate && instruction.words.size() == 4 &&
        instruction.word(2) == kSpecId) {
      results.emplace(instruction.word(3), instruction.word(1));
    }
  });
  return results;
}

}  // namespace kiln
