// SPDX-License-Identifier: Apache-2.0
#include "shaders/compiler_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "proto/text.h"

namespace kiln::shaders {
namespace {

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '\x7F';
}

// `path` with what a compiler could misread as '_'.
std::string PlainPath(std::string_view path) {
  constexpr std::string_view kMisread = "\"\\*:";
  std::string plain(path);
  for (char& c : plain) {
    if (IsControl(c) || kMisread.find(c) != kMisread.npos) {
      c = '_';
    }
  }
  const bool is_number =
      std::ranges::all_of(plain, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? "_" + plain : plain;
}

}  // namespace

CompilerNames::CompilerNames(const Program& program) {
  for (const SourceFile& file : program.files) {
    const std::string plain = PlainPath(file.path);
    if (plain == file.path) {
      continue;
    }
    auto is_taken = [&](const std::string& name) {
      return program.FindFile(name) != nullptr ||
             std::ranges::any_of(names_, [&](const auto& entry) {
               return entry.second == name;
             });
    };
    std::string name = plain;
    for (int i = 2; is_taken(name); ++i) {
      name = fmt::format("{}~{}", plain, i);
    }
    names_.emplace(file.path, std::move(name));
  }
}

std::string CompilerNames::Of(std::string_view path) const {
  const auto found = names_.find(path);
  return found == names_.end() ? std::string(path) : found->second;
}

std::string CompilerNames::PathOf(std::string_view name) const {
  const auto found = std::ranges::find_if(
      names_, [&](const auto& entry) { return entry.second == name; });
  return found == names_.end() ? std::string(name) : found->first;
}

std::string CompilerNames::WithPath(std::string_view line) const {
  for (const auto& [path, name] : names_) {
    if (line.size() > name.size() && line.starts_with(name) &&
        line[name.size()] == ':') {
      return ShownPath(path) + std::string(line.substr(name.size()));
    }
  }
  return std::string(line);
}

std::string ShownPath(std::string_view path) {
  std::string shown = ToValidUtf8(path);
  std::ranges::replace_if(shown, IsControl, '?');
  return shown;
}

}  // namespace kiln::shaders
