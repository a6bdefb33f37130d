// SPDX-License-Identifier: Apache-2.0
#include "shaders/contraction.h"

#include <algorithm>
#include <set>

#include "proto/spirv_view.h"

namespace kiln::shaders {
namespace {

constexpr uint16_t kOpLine = 8;
constexpr uint16_t kOpTypeVoid = 19;
constexpr uint16_t kOpDecorate = 71;
constexpr uint32_t kNoContraction = 42;

// OpFNegate, OpFAdd ... OpFMod, and the products of vectors and matrices: what
// the SPIR-V specification calls arithmetic and is not of integers.
bool IsFloatArithmetic(uint16_t opcode) {
  constexpr uint16_t kOps[] = {127, 129, 131, 133, 136, 140, 141,
                               142, 143, 144, 145, 146, 147, 148};
  return std::ranges::find(kOps, opcode) != std::end(kOps);
}

// The first instruction after the annotations.
bool EndsAnnotations(uint16_t opcode) {
  return opcode == kOpLine || (opcode >= kOpTypeVoid && opcode < kOpDecorate);
}

}  // namespace

std::vector<uint32_t> ForbidContraction(std::span<const uint32_t> spirv) {
  std::set<uint32_t> decorated;
  std::vector<uint32_t> results;
  size_t place = 0;
  size_t at = kSpirvHeaderWords;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    if (place == 0 && EndsAnnotations(instruction.opcode)) {
      place = at;
    }
    if (instruction.opcode == kOpDecorate &&
        instruction.word(2) == kNoContraction) {
      decorated.insert(instruction.word(1));
    }
    if (IsFloatArithmetic(instruction.opcode)) {
      results.push_back(instruction.word(2));
    }
    at += instruction.words.size();
  });
  std::vector<uint32_t> out(spirv.begin(), spirv.begin() + place);
  for (const uint32_t result : results) {
    if (!decorated.contains(result)) {
      out.insert(out.end(), {3u << 16 | kOpDecorate, result, kNoContraction});
    }
  }
  out.insert(out.end(), spirv.begin() + place, spirv.end());
  return out;
}

}  // namespace kiln::shaders
