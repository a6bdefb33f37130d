// SPDX-License-Identifier: Apache-2.0
#pragma once

// What GLSL and HLSL offer everywhere and reaches beyond a surface. A surface
// computes: it gives what it has to say to its parameters, and the shader
// around it decides on the pixel. So it writes no output, ends no pixel, writes
// no memory, and asks nothing of the device that the shader does not: an output
// that one surface writes is an output of all, and gl_SampleID in one makes
// every draw run once per sample.

#include <string_view>

#include "proto/program.h"

namespace kiln::surface {

// Why a surface may not use `word`, whatever is around it; empty: it may.
std::string_view EffectOfWord(std::string_view word);

// The same of a call of a function of the language.
std::string_view EffectOfCall(std::string_view function, Language language);

// A function of GLSL. One of that name elsewhere hides it from all that
// follows, whatever its parameters are.
bool IsGlslFunction(std::string_view name);

}  // namespace kiln::surface
