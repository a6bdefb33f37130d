// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/includer.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/sources/include_chain.h"

namespace kiln::sources {
std::string EdgeName(std::string_view name) {
  return Shorten(name, limits::kNameBytes);
}

const IncludeEdge* FindEdge(const std::vector<IncludeEdge>& includes,
                            std::string_view from, std::string_view name,
                            IncludeForm form) {
  const std::string edge_name = EdgeName(name);
  const bool angled = form == IncludeForm::kAngled;
  const auto wanted = std::tuple(from, std::string_view(edge_name), angled);
  auto key = [](const IncludeEdge& edge) {
    return std::tuple(std::string_view(edge.from), std::string_view(edge.name),
                      edge.angled);
  };
  const auto found = std::ranges::lower_bound(includes, wanted, {}, key);
  return found != includes.end() && key(*found) == wanted ? &*found : nullptr;
}

Includer::Includer(const Program& program, std::string_view root_path)
    : program_(program), open_{root_path} {
  // A copy of the root file that says `#pragma once` is not read again either.
  if (const SourceFile* root = program.FindFile(root_path);
      root != nullptr && HasPragmaOnce(root->text)) {
    once_paths_.insert(root->path);
    once_files_[root->text].push_back(root);
  }
}

absl::StatusOr<Includer::File> Includer::Open(std::string_view name,
                                              IncludeForm form, size_t depth) {
  // Files above this include have been closed since the last call.
  open_.resize(std::min(open_.size(), std::max<size_t>(depth, 1)));
  // glslang asks for a quoted name that failed once more, in angled form. That
  // is the same include, and must not open what only <name> means.
  if (form == IncludeForm::kAngled && !failure_.ok() && failed_ == name) {
    return failure_;
  }
  absl::StatusOr<File> file = OpenNow(name, form, depth);
  failed_ = name;
  failure_ = form == IncludeForm::kQuoted ? file.status() : absl::OkStatus();
  return file;
}

absl::StatusOr<Includer::File> Includer::OpenNow(std::string_view name,
                                                 IncludeForm form,
                                                 size_t depth) {
  KILN_ASSIGN_OR_RETURN(const SourceFile* file,
                        Resolve(open_.back(), name, form));
  if (once_paths_.contains(file->path) || WasOnce(*file)) {
    once_paths_.insert(file->path);
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

// True when a file of another path that is this one has been read.
bool Includer::WasOnce(const SourceFile& file) {
  const auto found = once_files_.find(file.text);
  return found != once_files_.end() && FactsOf(file).pragma_once.has_value() &&
         std::ranges::any_of(found->second, [&](const SourceFile* other) {
           return IsSame(*other, file);
         });
}

// True for the same text in which the same includes open the same, and so on.
// Where only one of the two opens, as beside a symbolic link, nothing tells
// them apart.
bool Includer::IsSame(const SourceFile& a, const SourceFile& b) {
  using Pair = std::pair<const SourceFile*, const SourceFile*>;
  std::set<Pair> seen;
  std::vector<Pair> pending = {{&a, &b}};
  while (!pending.empty()) {
    const auto [one, other] = pending.back();
    pending.pop_back();
    if (one == other || !seen.emplace(one, other).second) {
      continue;
    }
    if (one->text != other->text) {
      return false;
    }
    for (const IncludeDirective& include : IncludesOf(*one)) {
      const IncludeForm form =
          include.angled ? IncludeForm::kAngled : IncludeForm::kQuoted;
      const auto of_one = Resolve(one->path, include.name, form);
      const auto of_other = Resolve(other->path, include.name, form);
      if (!include.computed && of_one.ok() && of_other.ok()) {
        pending.emplace_back(*of_one, *of_other);
      }
    }
  }
  return true;
}

const std::vector<IncludeDirective>& Includer::IncludesOf(
    const SourceFile& file) {
  auto& includes = FactsOf(file).includes;
  if (!includes.has_value()) {
    includes = ScanIncludes(file.text);
  }
  return *includes;
}

absl::StatusOr<const SourceFile*> Includer::Resolve(std::string_view from,
                                                    std::string_view name,
                                                    IncludeForm form) const {
  if (!program_.includes.empty()) {
    const IncludeEdge* edge = FindEdge(program_.includes, from, name, form);
    const SourceFile* file =
        edge == nullptr ? nullptr : program_.FindFile(edge->path);
    if (file != nullptr) {
      return file;
    }
    return absl::NotFoundError(fmt::format(
        "{} included from {}: {}", QuoteName(name), QuoteName(from),
        edge == nullptr ? "the scan for includes did not find it"
                        : Shorten(edge->problem, limits::kStatusTextBytes)));
  }
  KILN_ASSIGN_OR_RETURN(std::vector<std::string> candidates,
                        ProgramCandidates(from, name, form));
  for (const std::string& path : candidates) {
    if (const SourceFile* file = program_.FindFile(path)) {
      return file;
    }
  }
  for (std::string& path : candidates) {
    path = QuoteName(path);
  }
  return absl::NotFoundError(fmt::format(
      "no file {} (included from {}; looked for {})", QuoteName(name),
      QuoteName(from), fmt::join(candidates, ", ")));
}

absl::Status Includer::CheckCycle(const SourceFile& file) {
  const auto first = std::ranges::find(open_, file.path);
  if (first == open_.end() || FactsOf(file).guarded) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "circular include: {}", Chain(first - open_.begin(), file.path)));
}

std::string Includer::Chain(size_t first, std::string_view last) const {
  std::vector<std::string_view> chain(
      open_.begin() + static_cast<ptrdiff_t>(first), open_.end());
  chain.push_back(last);
  return DescribeChain(std::move(chain));
}

Includer::Facts& Includer::FactsOf(const SourceFile& file) {
  const auto [found, is_new] = facts_.try_emplace(file.path);
  if (is_new) {
    found->second.pragma_once = FindPragmaOnce(file.text);
    found->second.guarded = HasIncludeGuard(file.text);
  }
  return found->second;
}

Includer::File Includer::TextOf(const SourceFile& file) {
  Facts& facts = FactsOf(file);
  if (!facts.pragma_once.has_value()) {
    return {file.path, file.text};
  }
  once_paths_.insert(file.path);
  once_files_[file.text].push_back(&file);
  // Blanked, for glslang does not know the pragma, and not removed: line
  // numbers stay.
  facts.without_pragma = file.text;
  for (char& c :
       std::span(facts.without_pragma)
           .subspan(facts.pragma_once->offset, facts.pragma_once->size)) {
    c = c == '\n' || c == '\r' ? c : ' ';
  }
  return {file.path, facts.without_pragma};
}

}  // namespace kiln::sources
