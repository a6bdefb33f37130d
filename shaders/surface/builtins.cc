// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/builtins.h"

#include <algorithm>
#include <iterator>

namespace kiln::surface {
namespace {

constexpr std::string_view kOutput =
    "it is an output of the whole shader, and a surface writes to its "
    "parameters only";
constexpr std::string_view kPixel =
    "it ends the whole shader for the pixel; let the shader do that, by a "
    "parameter of the surface";
constexpr std::string_view kMemory =
    "it writes, or orders, memory that others see, and a surface writes to its "
    "parameters only";
constexpr std::string_view kPerSample =
    "it makes every draw of the shader run once per sample";
constexpr std::string_view kDevice =
    "it asks more of the device, for the whole shader";

struct Effect {
  std::string_view word;
  std::string_view why;
};

constexpr Effect kWords[] = {
    {"gl_FragDepth", kOutput},
    {"gl_SampleMask", kOutput},
    {"gl_FragColor", kOutput},
    {"gl_FragData", kOutput},
    {"gl_Position", kOutput},
    {"gl_PointSize", kOutput},
    {"gl_PerVertex", kOutput},
    {"gl_out", kOutput},
    {"gl_TessLevelInner", kOutput},
    {"gl_TessLevelOuter", kOutput},
    {"gl_ClipDistance", kDevice},
    {"gl_CullDistance", kDevice},
    {"gl_Layer", kDevice},
    {"gl_ViewportIndex", kDevice},
    {"gl_PrimitiveID", kDevice},
    {"gl_SampleID", kPerSample},
    {"gl_SamplePosition", kPerSample},
    {"discard", kPixel},
    {"demote", kPixel},
    {"terminateInvocation", kPixel},
};

constexpr std::string_view kGlslMemory[] = {
    "barrier",
    "memoryBarrier",
    "memoryBarrierAtomicCounter",
    "memoryBarrierBuffer",
    "memoryBarrierShared",
    "memoryBarrierImage",
    "groupMemoryBarrier",
    "controlBarrier",
    "subgroupBarrier",
    "subgroupMemoryBarrier",
    "beginInvocationInterlockARB",
    "imageStore",
};

constexpr std::string_view kHlslMemory[] = {
    "AllMemoryBarrier",    "AllMemoryBarrierWithGroupSync",
    "DeviceMemoryBarrier", "DeviceMemoryBarrierWithGroupSync",
    "GroupMemoryBarrier",  "GroupMemoryBarrierWithGroupSync",
};

constexpr std::string_view kGlslAtomics[] = {
    "atomicAdd", "atomicAnd", "atomicCompSwap", "atomicExchange", "atomicMax",
    "atomicMin", "atomicOr",  "atomicStore",    "atomicXor"};

constexpr std::string_view kGlslFunctions[] = {"radians",
                                               "degrees",
                                               "sin",
                                               "cos",
                                               "tan",
                                               "asin",
                                               "acos",
                                               "atan",
                                               "sinh",
                                               "cosh",
                                               "tanh",
                                               "asinh",
                                               "acosh",
                                               "atanh",
                                               "pow",
                                               "exp",
                                               "log",
                                               "exp2",
                                               "log2",
                                               "sqrt",
                                               "inversesqrt",
                                               "abs",
                                               "sign",
                                               "floor",
                                               "trunc",
                                               "round",
                                               "roundEven",
                                               "ceil",
                                               "fract",
                                               "mod",
                                               "modf",
                                               "min",
                                               "max",
                                               "clamp",
                                               "mix",
                                               "step",
                                               "smoothstep",
                                               "isnan",
                                               "isinf",
                                               "floatBitsToInt",
                                               "floatBitsToUint",
                                               "intBitsToFloat",
                                               "uintBitsToFloat",
                                               "fma",
                                               "frexp",
                                               "ldexp",
                                               "packUnorm2x16",
                                               "packSnorm2x16",
                                               "packUnorm4x8",
                                               "packSnorm4x8",
                                               "unpackUnorm2x16",
                                               "unpackSnorm2x16",
                                               "unpackUnorm4x8",
                                               "unpackSnorm4x8",
                                               "packHalf2x16",
                                               "unpackHalf2x16",
                                               "packDouble2x32",
                                               "unpackDouble2x32",
                                               "length",
                                               "distance",
                                               "dot",
                                               "cross",
                                               "normalize",
                                               "ftransform",
                                               "faceforward",
                                               "reflect",
                                               "refract",
                                               "matrixCompMult",
                                               "outerProduct",
                                               "transpose",
                                               "determinant",
                                               "inverse",
                                               "lessThan",
                                               "lessThanEqual",
                                               "greaterThan",
                                               "greaterThanEqual",
                                               "equal",
                                               "notEqual",
                                               "any",
                                               "all",
                                               "not",
                                               "uaddCarry",
                                               "usubBorrow",
                                               "umulExtended",
                                               "imulExtended",
                                               "bitfieldExtract",
                                               "bitfieldInsert",
                                               "bitfieldReverse",
                                               "bitCount",
                                               "findLSB",
                                               "findMSB",
                                               "textureSize",
                                               "textureQueryLod",
                                               "textureQueryLevels",
                                               "textureSamples",
                                               "texture",
                                               "textureProj",
                                               "textureLod",
                                               "textureOffset",
                                               "texelFetch",
                                               "texelFetchOffset",
                                               "textureProjOffset",
                                               "textureLodOffset",
                                               "textureProjLod",
                                               "textureProjLodOffset",
                                               "textureGrad",
                                               "textureGradOffset",
                                               "textureProjGrad",
                                               "textureProjGradOffset",
                                               "textureGather",
                                               "textureGatherOffset",
                                               "textureGatherOffsets",
                                               "imageSize",
                                               "imageSamples",
                                               "imageLoad",
                                               "imageStore",
                                               "subpassLoad",
                                               "dFdx",
                                               "dFdy",
                                               "dFdxFine",
                                               "dFdyFine",
                                               "fwidth",
                                               "fwidthFine",
                                               "dFdxCoarse",
                                               "dFdyCoarse",
                                               "fwidthCoarse",
                                               "interpolateAtCentroid",
                                               "interpolateAtSample",
                                               "interpolateAtOffset",
                                               "barrier",
                                               "memoryBarrier",
                                               "memoryBarrierBuffer",
                                               "memoryBarrierShared",
                                               "memoryBarrierImage",
                                               "groupMemoryBarrier"};

bool IsAmong(const auto& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

}  // namespace

std::string_view EffectOfWord(std::string_view word) {
  const auto found = std::ranges::find(kWords, word, &Effect::word);
  return found == std::end(kWords) ? std::string_view() : found->why;
}

std::string_view EffectOfCall(std::string_view function, Language language) {
  if (language == Language::kHlsl) {
    if (function == "clip") {
      return kPixel;
    }
    const bool writes =
        IsAmong(kHlslMemory, function) || function.starts_with("Interlocked");
    return writes ? kMemory : std::string_view();
  }
  if (function.starts_with("interpolateAt")) {
    return kDevice;
  }
  const bool writes = IsAmong(kGlslMemory, function) ||
                      IsAmong(kGlslAtomics, function) ||
                      function.starts_with("imageAtomic");
  return writes ? kMemory : std::string_view();
}

bool IsGlslFunction(std::string_view name) {
  return IsAmong(kGlslFunctions, name);
}

}  // namespace kiln::surface
