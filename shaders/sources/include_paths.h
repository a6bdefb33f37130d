// SPDX-License-Identifier: Apache-2.0
#pragma once

// The look-up rule: which files a name may mean, in order; the first that
// exists is meant. Pure text, touches no file. "a/../b", "./b" and "a//b" are
// resolved as text, before any symbolic link is looked at.
//
// In search roots, a file is named by its id, "<root>/<path in root>". A plain
// name is searched in every root in order; "/<root>/<path>" means that one
// file, so a shadowed file stays within reach; a quoted name in an #include is
// looked up beside the including file first. No ".." leaves a root.
//
// Within a program that is whole (Program::files), there is one nameless root.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "shaders/sources/search_roots.h"

namespace kiln::sources {

enum class IncludeForm { kQuoted, kAngled };

// `folder`/`name` without ".", ".." and empty parts; nullopt when it leaves the
// folder that `folder` is relative to.
std::optional<std::string> JoinPath(std::string_view folder,
                                    std::string_view name);

// What is before the last '/'; empty: there is none.
std::string_view FolderOf(std::string_view path);

// An id's two parts.
struct FileId {
  std::string_view root;
  std::string_view path;
};

// Requires: `id` holds a '/'. Lifetime: of the parts, that of `id`.
FileId SplitFileId(std::string_view id);

// The ids that the name of an entry file may mean.
// Errors: InvalidArgument saying why it can mean none, without the name.
absl::StatusOr<std::vector<std::string>> EntryCandidates(
    const SearchRoots& roots, std::string_view name);

// The ids that `name`, included by the file `from`, may mean. Errors: as above.
absl::StatusOr<std::vector<std::string>> IncludeCandidates(
    const SearchRoots& roots, std::string_view from, std::string_view name,
    IncludeForm form);

// The same within a whole program, as paths in Program::files. Errors:
// InvalidArgument naming both.
absl::StatusOr<std::vector<std::string>> ProgramCandidates(
    std::string_view from, std::string_view name, IncludeForm form);

}  // namespace kiln::sources
