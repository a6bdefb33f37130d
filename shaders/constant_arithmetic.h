// SPDX-License-Identifier: Apache-2.0
#pragma once

// What one instruction of a SPIR-V constant expression computes. SPIRV-Tools
// 2023.1 folds 32-bit integers and booleans only, no conversion at all and
// nothing of 8, 16 or 64 bits; array lengths and feature bits use all of them.
// Which instructions of a module are evaluated is module_constants.h's matter.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kiln::shaders {

// The type of a scalar, or of each lane of a vector.
struct NumericType {
  enum class Kind : uint8_t { kBool, kInt, kFloat };

  Kind kind = Kind::kInt;
  uint32_t bits = 32;  // 1 for a bool
  bool is_signed = false;

  friend bool operator==(const NumericType&, const NumericType&) = default;
};

// A scalar has one lane. Each holds its type's bits, zero-extended.
using Lanes = std::vector<uint64_t>;

struct NumericValue {
  NumericType type;
  Lanes lanes;
};

// `value`, whose low `bits` bits are two's complement, as a number.
int64_t SignExtend(uint64_t value, uint32_t bits);

// Computes the operation `opcode` (a spv::Op that OpSpecConstantOp may hold in
// a shader), lane by lane. `literals` are the words after the operands:
// indices of OpCompositeExtract, OpCompositeInsert and OpVectorShuffle.
// Where SPIR-V leaves the result undefined (division by zero, shifts past the
// width), it is what Mesa computes: 0, and the shift amount modulo the width.
// Returns: nullopt for an operation or operands it does not know.
std::optional<Lanes> Compute(uint32_t opcode, const NumericType& result,
                             std::span<const NumericValue> operands,
                             std::span<const uint32_t> literals);

}  // namespace kiln::shaders
