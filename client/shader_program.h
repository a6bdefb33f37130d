// SPDX-License-Identifier: Apache-2.0
#pragma once

// One shader alone, as the program that it is to kilnd: a stage that has a
// front end, what it declares, and no variants. What "compile this file" and
// "compile this text" mean to the library and the command line. The answer to
// asking for it is in kiln/v1/kiln.proto: ShaderRequest, FrontEnd.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/program.h"

namespace kiln::client {

// A shader by its place or by its text, and how to compile it. All of it is
// part of the program's id, but for the order of the defines.
struct ShaderSource {
  // A name in kilnd's search roots ("fx/lit.frag": the first root that has
  // it), or a full virtual path ("/engine/fx/lit.frag"). Ignored with `text`.
  std::string path;
  // The shader itself, of any origin; bytes, where it is SPIR-V. It can include
  // nothing: there is no file beside it.
  std::optional<std::string> text;
  Stage stage = Stage::kFragment;
  Language language = Language::kGlsl;
  std::string entry = "main";  // GLSL knows no other
  std::vector<Define> defines;
  // What diagnostics call it, of a path or a text: all of them, of an event as
  // of the command line, begin with the line "in NAME:" (`NamedDiagnostics`).
  // Of a text it is also the file that their lines name; of a path they name
  // its own files. Empty: no such line, and a text's file is "shader.frag".
  std::string debug_name;
};

// Returns: a recipe for a path, a whole program for a text. It `Validate`s
// unless the path, entry or a define is not one: `Validate` says which.
Program ShaderProgram(const ShaderSource& source);

// Compiler output about a shader with the line "in NAME:" in front.
// Returns: `diagnostics` as they are when one of both is empty.
std::string NamedDiagnostics(std::string_view debug_name,
                             std::string_view diagnostics);

// By the end of the name, before that of its language: .vert, .frag or .comp,
// as in "lit.frag", "lit.frag.hlsl" and "lit.frag.spv". Absent: it has none, as
// files have that others include.
std::optional<Stage> StageOfPath(std::string_view path);

}  // namespace kiln::client
