// SPDX-License-Identifier: Apache-2.0
#pragma once

// Small programs for the shader tests.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/program.h"
#include "shaders/compiler.h"

namespace kiln::shaders {

inline constexpr std::string_view kFragmentHead =
    "#version 450\n"
    "layout(location = 0) out vec4 color;\n";

inline std::string Fragment(std::string_view body) {
  return std::string(kFragmentHead) + std::string(body);
}

// A program whose fragment stage is `main.frag`; other files as given.
inline Program FragmentProgram(std::string main_text,
                               std::vector<SourceFile> files = {}) {
  Program program;
  program.name = "test";
  program.stages = {{Stage::kFragment, "main.frag"}};
  program.files = std::move(files);
  program.files.push_back({"main.frag", std::move(main_text)});
  std::ranges::sort(program.files, {}, &SourceFile::path);
  return program;
}

inline StageResult CompileFragment(std::string main_text,
                                   std::vector<SourceFile> files = {}) {
  return CompileStage(FragmentProgram(std::move(main_text), std::move(files)),
                      Stage::kFragment);
}

}  // namespace kiln::shaders
