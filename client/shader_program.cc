// SPDX-License-Identifier: Apache-2.0
#include "client/shader_program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proto/limits.h"
#include "proto/text.h"

namespace kiln::client {
namespace {

constexpr std::array<std::pair<std::string_view, Stage>, 3> kEndings = {{
    {".vert", Stage::kVertex},
    {".frag", Stage::kFragment},
    {".comp", Stage::kCompute},
}};

std::string_view EndingOf(Stage stage) {
  return std::ranges::find(kEndings, stage,
                           &std::pair<std::string_view, Stage>::second)
      ->first;
}

// `text` as a program's name, which has no separators: labels read
// "engine:fx:lit.frag".
std::string NameOf(std::string_view text) {
  const size_t first = text.find_first_not_of('/');
  text.remove_prefix(first == text.npos ? text.size() : first);
  std::string name = Shorten(text, limits::kNameBytes);
  for (char& c : name) {
    if (c == '/') {
      c = ':';
    } else if (std::string_view(" ,|=#\n\r\t").find(c) !=
               std::string_view::npos) {
      c = '_';
    }
  }
  return name.empty() ? "shader" : name;
}

// `text` as a path in Program::files: relative, without "." and "..".
std::string PathOf(std::string_view text, Stage stage) {
  std::string path;
  for (const std::string safe = Shorten(text, limits::kNameBytes);
       const char c : safe + "/") {
    if (c != '/') {
      path += c == '\n' || c == '\t' ? '_' : c;
      continue;
    }
    const size_t part = path.rfind('/') + 1;  // 0 without one
    const std::string_view last = std::string_view(path).substr(part);
    if (last.empty() || last == "." || last == "..") {
      path.resize(part);
    } else {
      path += '/';
    }
  }
  if (path.empty()) {
    return "shader" + std::string(EndingOf(stage));
  }
  path.pop_back();
  return path;
}

}  // namespace

Program ShaderProgram(const ShaderSource& source) {
  Program program;
  StageSource stage;
  stage.stage = source.stage;
  stage.language = source.language;
  stage.entry = source.entry;
  if (source.text.has_value()) {
    stage.path = PathOf(source.debug_name, source.stage);
    program.files.push_back({stage.path, *source.text});
  } else {
    stage.path = source.path;
    program.rooted = true;
  }
  program.name =
      NameOf(source.debug_name.empty() ? stage.path : source.debug_name);
  program.stages.push_back(std::move(stage));
  program.defines = source.defines;
  std::ranges::stable_sort(program.defines, {}, &Define::name);
  program.kinds.push_back({{"shader", {}, {}}});
  program.backdrops.push_back({"none", {}, {}});
  program.blends.push_back({"none", {}, {}});
  return program;
}

std::string NamedDiagnostics(std::string_view debug_name,
                             std::string_view diagnostics) {
  if (debug_name.empty() || diagnostics.empty()) {
    return std::string(diagnostics);
  }
  std::string name = Shorten(debug_name, limits::kNameBytes);
  std::ranges::replace(name, '\n', '_');
  return "in " + name + ":\n" + std::string(diagnostics);
}

std::optional<Stage> StageOfPath(std::string_view path) {
  for (const std::string_view language : {".glsl", ".hlsl", ".spv"}) {
    if (path.ends_with(language)) {
      path.remove_suffix(language.size());
      break;
    }
  }
  for (const auto& [ending, stage] : kEndings) {
    // A file that is called ".frag" has no name.
    if (path.ends_with(ending) && path.size() > ending.size() &&
        path[path.size() - ending.size() - 1] != '/') {
      return stage;
    }
  }
  return std::nullopt;
}

}  // namespace kiln::client
