// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/include_paths.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::sources {
namespace {

absl::Status CheckText(std::string_view name) {
  if (name.empty()) {
    return absl::InvalidArgumentError("the name is empty");
  }
  if (name.size() > limits::kNameBytes) {
    return absl::InvalidArgumentError(
        fmt::format("the name is over {} bytes", limits::kNameBytes));
  }
  if (ToValidUtf8(name) != name || name.find_first_of("\n\t") != name.npos) {
    return absl::InvalidArgumentError("the name is not printable UTF-8");
  }
  return absl::OkStatus();
}

// An id is a path of Program::files and must not be longer than one may be.
absl::Status CheckLength(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    if (id.size() > limits::kNameBytes) {
      return absl::InvalidArgumentError(
          fmt::format("its path in root '{}' is over {} bytes",
                      SplitFileId(id).root, limits::kNameBytes));
    }
  }
  return absl::OkStatus();
}

// `path` in every root, in order.
std::vector<std::string> InEveryRoot(const SearchRoots& roots,
                                     std::string_view path) {
  std::vector<std::string> ids;
  for (const SearchRoot& root : roots.roots()) {
    ids.push_back(fmt::format("{}/{}", root.name, path));
  }
  return ids;
}

absl::Status LeavesRoot() {
  return absl::InvalidArgumentError("the name leaves its search root");
}

absl::Status NamesAFolder() {
  return absl::InvalidArgumentError("the name is that of a folder");
}

// The one id that "/<root>/<path>" means.
absl::StatusOr<std::vector<std::string>> FullPath(const SearchRoots& roots,
                                                  std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
  const FileId id = SplitFileId(name);
  if (roots.Find(id.root) == nullptr) {
    return absl::InvalidArgumentError(fmt::format(
        "no search root is named '{}'", Shorten(id.root, limits::kNameBytes)));
  }
  const std::optional<std::string> path = JoinPath({}, id.path);
  if (!path.has_value()) {
    return LeavesRoot();
  }
  if (path->empty()) {
    return NamesAFolder();
  }
  return std::vector<std::string>{fmt::format("{}/{}", id.root, *path)};
}

absl::StatusOr<std::vector<std::string>> Candidates(
    const SearchRoots& roots, std::optional<std::string_view> from,
    std::string_view name) {
  KILN_RETURN_IF_ERROR(CheckText(name));
  if (name.front() == '/') {
    return FullPath(roots, name);
  }
  std::vector<std::string> ids;
  bool inside = false;
  if (from.has_value()) {
    const FileId id = SplitFileId(*from);
    if (auto beside = JoinPath(FolderOf(id.path), name); beside.has_value()) {
      if (beside->empty()) {
        return NamesAFolder();
      }
      inside = true;
      ids.push_back(fmt::format("{}/{}", id.root, *beside));
    }
  }
  if (const auto path = JoinPath({}, name); path.has_value()) {
    if (path->empty()) {
      return NamesAFolder();
    }
    inside = true;
    for (std::string& id : InEveryRoot(roots, *path)) {
      if (ids.empty() || ids.front() != id) {
        ids.push_back(std::move(id));
      }
    }
  }
  if (!inside) {
    return LeavesRoot();
  }
  return ids;
}

}  // namespace

std::optional<std::string> JoinPath(std::string_view folder,
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

FileId SplitFileId(std::string_view id) {
  const size_t slash = std::min(id.find('/'), id.size());
  return {id.substr(0, slash), id.substr(std::min(slash + 1, id.size()))};
}

absl::StatusOr<std::vector<std::string>> EntryCandidates(
    const SearchRoots& roots, std::string_view name) {
  KILN_ASSIGN_OR_RETURN(std::vector<std::string> ids,
                        Candidates(roots, std::nullopt, name));
  KILN_RETURN_IF_ERROR(CheckLength(ids));
  return ids;
}

absl::StatusOr<std::vector<std::string>> IncludeCandidates(
    const SearchRoots& roots, std::string_view from, std::string_view name,
    IncludeForm form) {
  KILN_ASSIGN_OR_RETURN(
      std::vector<std::string> ids,
      Candidates(
          roots,
          form == IncludeForm::kQuoted ? std::optional(from) : std::nullopt,
          name));
  KILN_RETURN_IF_ERROR(CheckLength(ids));
  return ids;
}

absl::StatusOr<std::vector<std::string>> ProgramCandidates(
    std::string_view from, std::string_view name, IncludeForm form) {
  const std::string quoted =
      fmt::format("'{}'", Shorten(name, limits::kNameBytes));
  if (name.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("the name is empty (included from '{}')",
                    Shorten(from, limits::kNameBytes)));
  }
  if (name.front() == '/') {
    return absl::InvalidArgumentError(
        fmt::format("{} included from '{}' is an absolute path; only files of "
                    "the program exist",
                    quoted, Shorten(from, limits::kNameBytes)));
  }
  std::vector<std::string> paths;
  if (form == IncludeForm::kQuoted) {
    if (auto beside = JoinPath(FolderOf(from), name); beside.has_value()) {
      paths.push_back(*std::move(beside));
    }
  }
  auto rooted = JoinPath({}, name);
  if (rooted.has_value() && (paths.empty() || paths.front() != *rooted)) {
    paths.push_back(*std::move(rooted));
  }
  if (paths.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{} included from '{}' leaves the program", quoted,
                    Shorten(from, limits::kNameBytes)));
  }
  return paths;
}

}  // namespace kiln::sources
