// SPDX-License-Identifier: Apache-2.0
#pragma once

// What one instruction of a function gives when some of its operands are known
// numbers: scalars only, and only where every device has to get the same bits.
// Internal to this folder.

#include <cstdint>
#include <optional>
#include <span>

#include <spirv/unified1/spirv.hpp11>

#include "shaders/constant_arithmetic.h"

namespace kiln::specialise {

// What is known of a scalar. A value can only go down this list: what was
// assumed of code not seen yet is given up once it is seen.
struct Known {
  enum class State : uint8_t {
    kUnseen,  // nothing that makes it has run
    kValue,
    kVaries,
  };

  State state = State::kUnseen;
  uint64_t bits = 0;  // as in constant_arithmetic.h; of kValue

  static Known Value(uint64_t bits) { return {State::kValue, bits}; }

  static Known Varies() { return {State::kVaries, 0}; }

  bool IsValue() const { return state == State::kValue; }

  // The value known and not zero.
  bool IsTrue() const { return IsValue() && bits != 0; }

  bool IsFalse() const { return IsValue() && bits == 0; }

  friend bool operator==(const Known&, const Known&) = default;
};

// One of two, of which it is not known which.
Known Meet(const Known& a, const Known& b);

// True when `Fold` may know the result. `result` is the type of its result,
// `operand` that of its first operand.
bool CanFold(spv::Op op, const shaders::NumericType& result,
             const shaders::NumericType& operand);

// Requires: CanFold; as many operands as the operation has, all of type
// `operand` but those of OpSelect and of shifts.
// Where SPIR-V leaves the result undefined it varies.
Known Fold(spv::Op op, const shaders::NumericType& result,
           const shaders::NumericType& operand,
           std::span<const Known> operands);

// The operand, by position, that the result is a copy of: of OpSelect the one
// chosen, of `true && x` x. nullopt if none is.
std::optional<size_t> CopiedOperand(spv::Op op,
                                    std::span<const Known> operands);

}  // namespace kiln::specialise
