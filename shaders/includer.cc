// SPDX-License-Identifier: Apache-2.0
#include "shaders/includer.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::shaders {
namespace {

constexpr size_t kChainShown = 16;  // a longer chain is cut in the middle
constexpr std::string_view kBlank = " \t\r";

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// "#pragma once" -> "pragma once" with single blanks; empty if no directive.
std::string DirectiveOf(std::string_view line) {
  line = Trim(line);
  if (line.empty() || line.front() != '#') {
    return {};
  }
  std::string directive;
  for (std::string_view rest = Trim(line.substr(1)); !rest.empty();) {
    const size_t end = std::min(rest.find_first_of(kBlank), rest.size());
    directive.append(directive.empty() ? "" : " ").append(rest.substr(0, end));
    rest = Trim(rest.substr(end));
  }
  return directive;
}

// Calls `visit(line, offset)` for each line until it returns false.
template <typename Visit>
void ForEachLine(std::string_view text, Visit visit) {
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    if (!visit(text.substr(start, end - start), start)) {
      return;
    }
    start = end + 1;
  }
}

// The offset of a `#pragma once` line. glslang does not know the pragma.
std::optional<size_t> FindPragmaOnce(std::string_view text) {
  std::optional<size_t> found;
  ForEachLine(text, [&](std::string_view line, size_t offset) {
    if (DirectiveOf(line) == "pragma once") {
      found = offset;
    }
    return !found.has_value();
  });
  return found;
}

// True when the first two directives are `#ifndef X` and `#define X`: then a
// second inclusion is empty, and a circle of such files ends by itself.
bool HasIncludeGuard(std::string_view text) {
  std::vector<std::string> directives;
  ForEachLine(text, [&](std::string_view line, size_t) {
    if (std::string directive = DirectiveOf(line); !directive.empty()) {
      directives.push_back(std::move(directive));
    }
    return directives.size() < 2;
  });
  constexpr std::string_view kIfndef = "ifndef ";
  constexpr std::string_view kDefine = "define ";
  if (directives.size() < 2 || !directives[0].starts_with(kIfndef) ||
      !directives[1].starts_with(kDefine)) {
    return false;
  }
  const std::string defined = directives[1].substr(kDefine.size());
  return defined.substr(0, defined.find(' ')) ==
         directives[0].substr(kIfndef.size());
}

// `folder` + `name` without "." and ".." parts; nullopt when it leaves the
// root.
std::optional<std::string> Join(std::string_view folder,
                                std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::string_view text : {folder, name}) {
    while (!text.empty()) {
      const size_t slash = std::min(text.find('/'), text.size());
      const std::string_view part = text.substr(0, slash);
      text.remove_prefix(std::min(slash + 1, text.size()));
      if (part == ".." && parts.empty()) {
        return std::nullopt;
      }
      if (part == "..") {
        parts.pop_back();
      } else if (!part.empty() && part != ".") {
        parts.push_back(part);
      }
    }
  }
  return fmt::format("{}", fmt::join(parts, "/"));
}

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

std::string Quoted(std::string_view name) {
  return fmt::format("'{}'", Shorten(name, limits::kNameBytes));
}

}  // namespace

Includer::Includer(const Program& program, std::string_view root_path)
    : program_(program), open_{root_path} {}

absl::StatusOr<Includer::File> Includer::Open(std::string_view name, Form form,
                                              std::string_view from,
                                              size_t depth) {
  // Files above this include have been closed since the last call.
  open_.resize(std::min(open_.size(), std::max<size_t>(depth, 1)));
  KILN_ASSIGN_OR_RETURN(const SourceFile* file, Resolve(name, form, from));
  if (once_.contains(file->path)) {
    open_.push_back(file->path);
    return File{file->path, {}};
  }
  KILN_RETURN_IF_ERROR(CheckCycle(*file));
  if (depth > limits::kIncludeDepth) {
    return absl::InvalidArgumentError(
        fmt::format("includes are more than {} deep: {}", limits::kIncludeDepth,
                    Chain(0, file->path)));
  }
  if (++count_ > limits::kIncludeCount) {
    return absl::InvalidArgumentError(fmt::format("more than {} includes: {}",
                                                  limits::kIncludeCount,
                                                  Chain(0, file->path)));
  }
  expanded_bytes_ += file->text.size();
  if (expanded_bytes_ > limits::kExpandedBytes) {
    return absl::InvalidArgumentError(
        fmt::format("includes expand to more than {} bytes: {}",
                    limits::kExpandedBytes, Chain(0, file->path)));
  }
  open_.push_back(file->path);
  return TextOf(*file);
}

absl::StatusOr<const SourceFile*> Includer::Resolve(
    std::string_view name, Form form, std::string_view from) const {
  if (name.empty() || name.front() == '/') {
    return absl::InvalidArgumentError(
        fmt::format("{} included from {} is an absolute path; only files of "
                    "the program exist",
                    Quoted(name), Quoted(from)));
  }
  std::vector<std::string> candidates;
  if (form == Form::kQuoted) {
    if (std::optional<std::string> beside = Join(FolderOf(from), name)) {
      candidates.push_back(*std::move(beside));
    }
  }
  std::optional<std::string> rooted = Join({}, name);
  if (rooted.has_value() &&
      (candidates.empty() || candidates.front() != *rooted)) {
    candidates.push_back(*std::move(rooted));
  }
  if (candidates.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "{} included from {} leaves the program", Quoted(name), Quoted(from)));
  }
  for (const std::string& path : candidates) {
    if (const SourceFile* file = program_.FindFile(path)) {
      return file;
    }
  }
  for (std::string& path : candidates) {
    path = Quoted(path);
  }
  return absl::NotFoundError(
      fmt::format("no file {} (included from {}; looked for {})", Quoted(name),
                  Quoted(from), fmt::join(candidates, ", ")));
}

absl::Status Includer::CheckCycle(const SourceFile& file) const {
  const auto first = std::ranges::find(open_, file.path);
  if (first == open_.end() || HasIncludeGuard(file.text)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "circular include: {}", Chain(first - open_.begin(), file.path)));
}

std::string Includer::Chain(size_t first, std::string_view last) const {
  std::vector<std::string_view> chain(
      open_.begin() + static_cast<ptrdiff_t>(first), open_.end());
  chain.push_back(last);
  if (chain.size() > kChainShown) {
    chain.erase(chain.begin() + kChainShown / 2, chain.end() - kChainShown / 2);
    chain.insert(chain.begin() + kChainShown / 2, "...");
  }
  return fmt::format("{}", fmt::join(chain, " -> "));
}

Includer::File Includer::TextOf(const SourceFile& file) {
  const std::optional<size_t> pragma = FindPragmaOnce(file.text);
  if (!pragma.has_value()) {
    return {file.path, file.text};
  }
  // Blanked, not removed: line numbers stay.
  std::string& text = once_[file.path] = file.text;
  const size_t end = std::min(text.find('\n', *pragma), text.size());
  text.replace(*pragma, end - *pragma, end - *pragma, ' ');
  return {file.path, text};
}

}  // namespace kiln::shaders
