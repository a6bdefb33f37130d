// SPDX-License-Identifier: Apache-2.0
#include "tests/shaders/lab/gate_calls.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include <fmt/format.h>

namespace kiln::lab {
namespace {

namespace fs = std::filesystem;

const fs::path kScene = fs::path(KILN_SOURCE_DIR) / "shaders/scene";

// `text` from `begin` to the parenthesis that closes the first one.
std::string BalancedCall(const std::string& text, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : 0;
    if (text[i] == ')' && --depth == 0) {
      return text.substr(begin, i + 1 - begin);
    }
  }
  return "";
}

std::string WithoutComments(const std::string& text) {
  return std::regex_replace(text, std::regex("//[^\n]*"), "");
}

void ReadCalls(const std::string& text, GateText& found) {
  static const std::regex kGuard(R"(\bUses(\w+)\s*&&\s*(Gate\w+)\s*\()");
  static const std::regex kGate(R"(\b(Gate\w+)\s*\()");
  static const std::regex kUses(R"(\bUses\w+)");
  const std::sregex_iterator end;
  size_t guarded = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), kGuard); at != end;
       ++at) {
    const auto begin = static_cast<size_t>(at->position(2));
    found.calls.push_back({(*at)[1], BalancedCall(text, begin)});
    found.guarding.insert((*at)[2]);
    ++guarded;
  }
  for (std::sregex_iterator at(text.begin(), text.end(), kGate); at != end;
       ++at) {
    found.called.insert((*at)[1]);
  }
  const auto uses = static_cast<size_t>(std::distance(
      std::sregex_iterator(text.begin(), text.end(), kUses), end));
  if (uses != guarded) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (std::regex_search(line, kUses) && !std::regex_search(line, kGuard)) {
        found.bare_uses.push_back(line);
      }
    }
  }
}

}  // namespace

std::string ReadSceneFile(std::string_view path) {
  std::ifstream in(kScene / path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

GateText ReadGateText() {
  GateText found;
  for (const char* folder : {"core", "blocks"}) {
    for (const fs::directory_entry& file :
         fs::directory_iterator(kScene / folder)) {
      ReadCalls(WithoutComments(
                    ReadSceneFile(fs::relative(file.path(), kScene).string())),
                found);
    }
  }
  ReadCalls(WithoutComments(ReadSceneFile("scene.frag")), found);
  const std::string features = ReadSceneFile("features.glsl");
  static const std::regex kBit(
      R"(\bUses(\w+) = \(Features & \(1u << (\d+)\)\))");
  for (std::sregex_iterator at(features.begin(), features.end(), kBit);
       at != std::sregex_iterator(); ++at) {
    found.bits[(*at)[1]] = static_cast<uint32_t>(std::stoul((*at)[2]));
  }
  return found;
}

std::string GateKernel(const GateText& text) {
  std::string body;
  for (const GateCall& call : text.calls) {
    body += fmt::format("    truths |= {} ? 1u << {} : 0u;\n", call.text,
                        text.bits.at(call.block));
  }
  // The calls find the names they have in the blocks.
  return R"(#version 460
#extension GL_GOOGLE_include_directive : require
#include "gates.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) readonly buffer Cases { uvec4 lanes[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Words { uvec2 words[]; };
struct Draw { uint flags; } draw;
struct Frame { uvec4 switches; uvec4 counts; vec4 strengths; } frame;
uvec4 layers;
vec4 relief;
uvec4 MaterialLayers() { return layers; }
vec4 MaterialRelief() { return relief; }

uint Truths() {
    uint truths = 0u;
)" + body +
         R"(    return truths;
}

void main() {
    uint first = gl_GlobalInvocationID.x * 6u;
    if (first < uint(lanes.length())) {
        layers = lanes[first];
        relief = uintBitsToFloat(lanes[first + 1u]);
        frame.switches = lanes[first + 2u];
        frame.counts = lanes[first + 3u];
        frame.strengths = uintBitsToFloat(lanes[first + 4u]);
        draw.flags = lanes[first + 5u].x;
        bool row_in_table = lanes[first + 5u].y != 0u;
        uint derived = Combine(OfMaterial(row_in_table, draw.flags, layers, relief),
                               OfFrame(frame.switches, frame.counts, frame.strengths));
        words[gl_GlobalInvocationID.x] = uvec2(Truths(), derived);
    }
}
)";
}

}  // namespace kiln::lab
