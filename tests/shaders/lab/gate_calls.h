// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gates of the scene shader as its own text calls them, read from the
// files: no list of them is written down here that could fall behind.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::lab {

// `UsesX && GateY(arguments)` somewhere in core/ or blocks/.
struct GateCall {
  std::string block;  // "Detail", of UsesDetail
  std::string text;   // "GateDetail(layers)"
};

// Everything the shader text says of its gates. Thread-compatible value.
struct GateText {
  std::vector<GateCall> calls;
  std::set<std::string> called;    // every Gate... name in core/ and blocks/
  std::set<std::string> guarding;  // those of `calls`
  std::vector<std::string> bare_uses;    // lines that test UsesX without a gate
  std::map<std::string, uint32_t> bits;  // block -> bit, from features.glsl
};

GateText ReadGateText();

// A file of shaders/scene/, whole.
std::string ReadSceneFile(std::string_view path);

// A compute shader that evaluates every call of `text`, a word of truths a
// case, and derives the case's bits as derive.comp does. Set 0, binding 0: six
// lanes a case (layers, relief, switches, counts, strengths; draw flags and
// row in table); binding 1: two words a case (truths, derived).
std::string GateKernel(const GateText& text);

}  // namespace kiln::lab
