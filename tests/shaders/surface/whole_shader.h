// SPDX-License-Identifier: Apache-2.0
#pragma once

// A small shader that takes surface shaders, and what a module of it declares.

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "proto/program.h"
#include "proto/spirv_view.h"
#include "shaders/compiler.h"
#include "shaders/surface/surface_program.h"
#include "shaders/surface/surface_set.h"

namespace kiln::surface {

// A member is called `noise`, as helpers often are, and a few macros would help
// to smuggle a resource or an entry point in.
inline constexpr std::string_view kWholeShader = R"(#version 460
layout(location = 0) in vec3 position;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform sampler2D map;
layout(push_constant) uniform Draw { uint surface; float seconds; } draw;
#define RESOURCE(n) layout(set = 0, binding = n) uniform
#define JOIN(a, b) a##b
#define INDIRECT RESOURCE
#define VARYING in
#define ID(x) x
#define OPEN (
#define PI 3.14159
struct Surface { vec3 position; vec3 albedo; float noise; };
float Sun(vec3 normal) { return max(normal.y, 0.0); }
#include "surfaces.glsl"
void main() {
  Surface s = Surface(position, texture(map, position.xy).rgb, 0.0);
  kiln_surface(draw.surface, s);
  color = vec4(s.albedo, s.noise);
}
)";

inline SurfaceSlot WholeSlot() {
  return {"surfaces.glsl", "surface", "inout Surface s"};
}

// main.frag, and `files`.
inline Program WholeProgram(std::vector<SourceFile> files = {}) {
  Program program;
  program.name = "whole";
  program.stages = {{Stage::kFragment, "main.frag"}};
  program.surface = WholeSlot();
  program.kinds = {{{"opaque", {}, {}}}};
  program.backdrops = program.blends = {{"none", {}, {}}};
  program.files = std::move(files);
  program.files.push_back({"main.frag", std::string(kWholeShader)});
  std::ranges::sort(program.files, {}, &SourceFile::path);
  return program;
}

// Surfaces with the indices 1, 2, ...: pairs of name and text.
inline SurfaceSet SetOf(
    std::initializer_list<std::pair<std::string_view, std::string_view>>
        surfaces) {
  SurfaceSet set;
  for (const auto& [name, text] : surfaces) {
    EXPECT_TRUE(set.Add(name, text).ok()) << name;
  }
  return set;
}

// The program with the set applied; fails the test if it cannot be.
inline Program Applied(const SurfaceSet& set,
                       const Program& program = WholeProgram()) {
  absl::StatusOr<Program> applied = Apply(program, set);
  EXPECT_TRUE(applied.ok()) << applied.status();
  return applied.ok() ? *applied : program;
}

inline shaders::StageResult CompileWith(
    const SurfaceSet& set, const Program& program = WholeProgram()) {
  return shaders::CompileStage(Applied(set, program), Stage::kFragment);
}

// What surfaces may not add to, sorted: resources by set and binding and by
// their storage class, inputs and outputs by location, entry points and their
// modes, extensions. Numbers are SPIR-V's.
inline std::vector<std::string> DeclaredBy(std::span<const uint32_t> spirv) {
  constexpr uint16_t kOpExtension = 10;
  constexpr uint16_t kOpEntryPoint = 15;
  constexpr uint16_t kOpExecutionMode = 16;
  constexpr uint16_t kOpVariable = 59;
  constexpr uint16_t kOpDecorate = 71;
  // Input, Output (built-in ones are free to all), Private, Function.
  constexpr uint32_t kNoResources[] = {1, 3, 6, 7};
  constexpr uint32_t kPlaces[] = {30, 33, 34};  // Location, Binding, Set
  std::vector<std::string> declared;
  auto is_one_of = [](uint32_t value, std::span<const uint32_t> list) {
    return std::ranges::find(list, value) != list.end();
  };
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    const uint32_t decoration = instruction.word(2);
    const uint32_t storage = instruction.word(3);
    if (instruction.opcode == kOpExtension) {
      declared.push_back(
          fmt::format("extension {}", LiteralText(instruction, 1)));
    } else if (instruction.opcode == kOpEntryPoint) {
      declared.push_back(
          fmt::format("entry point {}", LiteralText(instruction, 3)));
    } else if (instruction.opcode == kOpExecutionMode) {
      declared.push_back(fmt::format("mode {}", decoration));
    } else if (instruction.opcode == kOpVariable &&
               !is_one_of(storage, kNoResources)) {
      declared.push_back(fmt::format("variable of class {}", storage));
    } else if (instruction.opcode == kOpDecorate &&
               is_one_of(decoration, kPlaces)) {
      declared.push_back(fmt::format("decoration {} {}", decoration, storage));
    }
  });
  std::ranges::sort(declared);
  return declared;
}

}  // namespace kiln::surface
