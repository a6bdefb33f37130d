// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/opcode_effects.h"

#include <array>

#include <spirv/unified1/GLSL.std.450.h>

namespace kiln::specialise {
namespace {

constexpr spv::Op kHarmless[] = {
    spv::Op::OpUndef,
    spv::Op::OpVariable,
    spv::Op::OpLoad,
    spv::Op::OpAccessChain,
    spv::Op::OpInBoundsAccessChain,
    spv::Op::OpPtrAccessChain,
    spv::Op::OpArrayLength,
    // Composites.
    spv::Op::OpVectorExtractDynamic,
    spv::Op::OpVectorInsertDynamic,
    spv::Op::OpVectorShuffle,
    spv::Op::OpCompositeConstruct,
    spv::Op::OpCompositeExtract,
    spv::Op::OpCompositeInsert,
    spv::Op::OpCopyObject,
    spv::Op::OpCopyLogical,
    spv::Op::OpTranspose,
    // Images that are only read through a sampler, or asked for their size.
    spv::Op::OpSampledImage,
    spv::Op::OpImageSampleImplicitLod,
    spv::Op::OpImageSampleExplicitLod,
    spv::Op::OpImageSampleDrefImplicitLod,
    spv::Op::OpImageSampleDrefExplicitLod,
    spv::Op::OpImageSampleProjImplicitLod,
    spv::Op::OpImageSampleProjExplicitLod,
    spv::Op::OpImageSampleProjDrefImplicitLod,
    spv::Op::OpImageSampleProjDrefExplicitLod,
    spv::Op::OpImageFetch,
    spv::Op::OpImageGather,
    spv::Op::OpImageDrefGather,
    spv::Op::OpImage,
    spv::Op::OpImageQuerySizeLod,
    spv::Op::OpImageQuerySize,
    spv::Op::OpImageQueryLod,
    spv::Op::OpImageQueryLevels,
    spv::Op::OpImageQuerySamples,
    // Conversions.
    spv::Op::OpConvertFToU,
    spv::Op::OpConvertFToS,
    spv::Op::OpConvertSToF,
    spv::Op::OpConvertUToF,
    spv::Op::OpUConvert,
    spv::Op::OpSConvert,
    spv::Op::OpFConvert,
    spv::Op::OpQuantizeToF16,
    spv::Op::OpBitcast,
    // Arithmetic.
    spv::Op::OpSNegate,
    spv::Op::OpFNegate,
    spv::Op::OpIAdd,
    spv::Op::OpFAdd,
    spv::Op::OpISub,
    spv::Op::OpFSub,
    spv::Op::OpIMul,
    spv::Op::OpFMul,
    spv::Op::OpUDiv,
    spv::Op::OpSDiv,
    spv::Op::OpFDiv,
    spv::Op::OpUMod,
    spv::Op::OpSRem,
    spv::Op::OpSMod,
    spv::Op::OpFRem,
    spv::Op::OpFMod,
    spv::Op::OpVectorTimesScalar,
    spv::Op::OpMatrixTimesScalar,
    spv::Op::OpVectorTimesMatrix,
    spv::Op::OpMatrixTimesVector,
    spv::Op::OpMatrixTimesMatrix,
    spv::Op::OpOuterProduct,
    spv::Op::OpDot,
    spv::Op::OpIAddCarry,
    spv::Op::OpISubBorrow,
    spv::Op::OpUMulExtended,
    spv::Op::OpSMulExtended,
    // Logic and comparisons.
    spv::Op::OpAny,
    spv::Op::OpAll,
    spv::Op::OpIsNan,
    spv::Op::OpIsInf,
    spv::Op::OpLogicalEqual,
    spv::Op::OpLogicalNotEqual,
    spv::Op::OpLogicalOr,
    spv::Op::OpLogicalAnd,
    spv::Op::OpLogicalNot,
    spv::Op::OpSelect,
    spv::Op::OpIEqual,
    spv::Op::OpINotEqual,
    spv::Op::OpUGreaterThan,
    spv::Op::OpSGreaterThan,
    spv::Op::OpUGreaterThanEqual,
    spv::Op::OpSGreaterThanEqual,
    spv::Op::OpULessThan,
    spv::Op::OpSLessThan,
    spv::Op::OpULessThanEqual,
    spv::Op::OpSLessThanEqual,
    spv::Op::OpFOrdEqual,
    spv::Op::OpFUnordEqual,
    spv::Op::OpFOrdNotEqual,
    spv::Op::OpFUnordNotEqual,
    spv::Op::OpFOrdLessThan,
    spv::Op::OpFUnordLessThan,
    spv::Op::OpFOrdGreaterThan,
    spv::Op::OpFUnordGreaterThan,
    spv::Op::OpFOrdLessThanEqual,
    spv::Op::OpFUnordLessThanEqual,
    spv::Op::OpFOrdGreaterThanEqual,
    spv::Op::OpFUnordGreaterThanEqual,
    // Bits.
    spv::Op::OpShiftRightLogical,
    spv::Op::OpShiftRightArithmetic,
    spv::Op::OpShiftLeftLogical,
    spv::Op::OpBitwiseOr,
    spv::Op::OpBitwiseXor,
    spv::Op::OpBitwiseAnd,
    spv::Op::OpNot,
    spv::Op::OpBitFieldInsert,
    spv::Op::OpBitFieldSExtract,
    spv::Op::OpBitFieldUExtract,
    spv::Op::OpBitReverse,
    spv::Op::OpBitCount,
    // Derivatives read other invocations, which do not notice.
    spv::Op::OpDPdx,
    spv::Op::OpDPdy,
    spv::Op::OpFwidth,
    spv::Op::OpDPdxFine,
    spv::Op::OpDPdyFine,
    spv::Op::OpFwidthFine,
    spv::Op::OpDPdxCoarse,
    spv::Op::OpDPdyCoarse,
    spv::Op::OpFwidthCoarse,
    spv::Op::OpPhi,
};

// All of them are of SPIR-V itself, whose opcodes are small.
constexpr std::array<bool, 512> kIsHarmless = [] {
  std::array<bool, 512> table{};
  for (const spv::Op op : kHarmless) {
    table[static_cast<size_t>(op)] = true;
  }
  return table;
}();

}  // namespace

bool HasNoEffect(spv::Op op) {
  const auto number = static_cast<size_t>(op);
  return number < kIsHarmless.size() && kIsHarmless[number];
}

bool GlslHasNoEffect(const Instruction& instruction) {
  const uint32_t number = instruction.word(4);
  return number != GLSLstd450Modf && number != GLSLstd450Frexp &&
         number < GLSLstd450Count;
}

bool IsPlainAccess(const Instruction& instruction, size_t index) {
  constexpr auto kHarmless =
      static_cast<uint32_t>(spv::MemoryAccessMask::Aligned) |
      static_cast<uint32_t>(spv::MemoryAccessMask::Nontemporal);
  return (instruction.word(index) & ~kHarmless) == 0;
}

}  // namespace kiln::specialise
