// SPDX-License-Identifier: Apache-2.0
#pragma once

// Random fragment shaders of integers and bools, full of branches on
// specialization constants: Interpret() can run them.

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace kiln::specialise {

// Constants: bool A, B, C (constant_id 0 to 2), int N (3), uint M (4).
class RandomGlsl {
 public:
  explicit RandomGlsl(uint32_t seed) : random_(seed) {}

  std::string Make() {
    std::string text = R"(#version 450
layout(constant_id = 0) const bool A = true;
layout(constant_id = 1) const bool B = true;
layout(constant_id = 2) const bool C = false;
layout(constant_id = 3) const int N = 1;
layout(constant_id = 4) const uint M = 7u;
const bool Low = (M & 1u) != 0u;
const bool High = (M & 4u) != 0u;
layout(location = 0) flat in int x;
layout(location = 1) flat in int y;
layout(location = 0) out int color;
int total = 0;
bool Gate() { return A && (y & 1) != 0; }
bool Always() { return B; }
)";
    for (functions_ = 0; functions_ < 3; ++functions_) {
      text += fmt::format("int f{}(int p, inout int r) {{\n{}return {};\n}}\n",
                          functions_, Block(2, false), Number());
    }
    text += fmt::format(
        "void main() {{\nint p = x;\nint r = y;\n{}color = r + total;\n}}\n",
        Block(3, false));
    return text;
  }

 private:
  uint32_t Pick(uint32_t choices) { return random_() % choices; }

  std::string Number() {
    switch (Pick(6)) {
      case 0:
        return "p";
      case 1:
        return "r";
      case 2:
        return fmt::format("(r * 3 + {})", Pick(9));
      case 3:
        return "N";
      case 4:
        return fmt::format("({} ? {} : p)", Condition(1), Pick(5));
      default:
        return std::to_string(Pick(7));
    }
  }

  std::string Condition(int depth) {
    static constexpr std::string_view kSimple[] = {"A",
                                                   "B",
                                                   "C",
                                                   "Low",
                                                   "High",
                                                   "Gate()",
                                                   "(N > 1)",
                                                   "(N == 2)",
                                                   "(M >= 5u)",
                                                   "Always()",
                                                   "(p < 3)",
                                                   "(r > 2)",
                                                   "((x & 2) != 0)",
                                                   "((y & 1) == 0)"};
    const std::string simple(kSimple[Pick(std::size(kSimple))]);
    if (depth == 0) {
      return simple;
    }
    switch (Pick(5)) {
      case 0:
        return fmt::format("(!{})", Condition(depth - 1));
      case 1:
        return fmt::format("({} && {})", simple, Condition(depth - 1));
      case 2:
        return fmt::format("({} || {})", simple, Condition(depth - 1));
      default:
        return simple;
    }
  }

  std::string Block(int depth, bool in_loop) {
    std::string text;
    for (uint32_t i = 1 + Pick(3); i > 0; --i) {
      text += Statement(depth, in_loop);
    }
    return text;
  }

  std::string Statement(int depth, bool in_loop) {
    const uint32_t kind = Pick(depth == 0 ? 4 : 12);
    return kind < 4 ? Simple(kind, in_loop)
                    : Compound(kind, depth - 1, in_loop);
  }

  std::string Simple(uint32_t kind, bool in_loop) {
    switch (kind) {
      case 0:
        return fmt::format("r = r * 5 + {};\n", Number());
      case 1:
        return fmt::format("total += {};\n", Number());
      case 2:
        return in_loop && Pick(2) == 0
                   ? fmt::format("if ({}) {};\n", Condition(1),
                                 Pick(2) == 0 ? "break" : "continue")
                   : fmt::format("color = {};\n", Number());
      default:
        break;
    }
    switch (Pick(6)) {
      case 0:
        return fmt::format("if ({}) discard;\n", Condition(1));
      case 1:
        return functions_ == 3 ? fmt::format("if ({}) return;\n", Condition(1))
                               : fmt::format("if ({}) return {};\n",
                                             Condition(1), Number());
      default:
        return "r ^= 9;\n";
    }
  }

  std::string Compound(uint32_t kind, int depth, bool in_loop) {
    const std::string name = fmt::format("v{}", names_++);
    switch (kind) {
      case 4:
      case 5:
        return fmt::format("if ({}) {{\n{}}} else {{\n{}}}\n", Condition(2),
                           Block(depth, in_loop), Block(depth, in_loop));
      case 6:
        return fmt::format("for (int {0} = 0; {0} < {1}{2}; ++{0}) {{\n{3}}}\n",
                           name, Pick(2) == 0 ? "N" : "3",
                           Pick(2) == 0 ? " && " + Condition(0) : "",
                           Block(depth, true));
      case 7:
        return fmt::format(
            "int {0} = 0;\ndo {{\n{1}}} while ({2} && ++{0} < 3);\n", name,
            Block(depth, true), Pick(2) == 0 ? "false" : Condition(0));
      case 8:
        return Switch(depth, in_loop);
      case 9:
        return fmt::format(
            "bool {0} = {1};\nif ({2}) {{\n{0} = {3};\n}}\n"
            "if ({0}) {{\n{4}}}\n",
            name, Condition(0), Condition(0), Condition(0),
            Block(depth, in_loop));
      case 10:
        return functions_ == 0 ? "p += 1;\n"
                               : fmt::format("r += f{}({}, p);\n",
                                             Pick(functions_), Number());
      default:
        return fmt::format(
            "bool {0};\nif ({1}) {0} = A; else {0} = {2};\n"
            "if ({0}) {{\n{3}}}\n",
            name, Condition(0), Condition(0), Block(depth, in_loop));
    }
  }

  std::string Switch(int depth, bool in_loop) {
    std::string text =
        fmt::format("switch ({}) {{\n", Pick(2) == 0 ? "N" : "(p & 3)");
    for (int i = 0; i < 3; ++i) {
      text += fmt::format("case {}:\n{}", i, Block(depth, in_loop));
      if (Pick(3) == 0) {
        text += fmt::format("if ({}) break;\n", Condition(1));
      }
      text += Pick(3) != 0 ? "break;\n" : "r += 1;\n";
    }
    if (Pick(2) == 0) {
      text += fmt::format("default:\n{}", Block(depth, in_loop));
    }
    return text + "}\n";
  }

  std::mt19937 random_;
  uint32_t functions_ = 0;  // that can be called
  uint32_t names_ = 0;
};

}  // namespace kiln::specialise
