// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/root_view.h"

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/text.h"
#include "shaders/sources/include_paths.h"

namespace kiln::sources {

RootView::RootView(const SearchRoots& roots, SourceCache& cache)
    : roots_(roots), cache_(cache) {}

const absl::StatusOr<SharedSource>& RootView::Load(const std::string& id,
                                                   Language language) {
  auto& known = language == Language::kSpirv ? modules_ : texts_;
  const auto found = known.find(id);
  if (found != known.end()) {
    return found->second;
  }
  absl::StatusOr<SharedSource> source = LoadNow(id, language);
  if (!source.ok() && !absl::IsNotFound(source.status())) {
    const absl::string_view why = source.status().message();
    source =
        absl::Status(source.status().code(),
                     fmt::format("'{}' {}", Shorten(id, limits::kNameBytes),
                                 std::string_view(why.data(), why.size())));
  }
  return known.emplace(id, std::move(source)).first->second;
}

bool RootView::HasFile(const std::string& id) {
  const FileId parts = SplitFileId(id);
  const absl::StatusOr<RootFolder>& folder = FolderOfRoot(parts.root);
  return folder.ok() && folder->Stat(std::string(parts.path)).ok();
}

absl::StatusOr<SharedSource> RootView::LoadNow(const std::string& id,
                                               Language language) {
  const FileId parts = SplitFileId(id);
  const absl::StatusOr<RootFolder>& folder = FolderOfRoot(parts.root);
  if (!folder.ok()) {
    return folder.status();
  }
  return cache_.Load(*folder, std::string(parts.path), id, language);
}

const absl::StatusOr<RootFolder>& RootView::FolderOfRoot(
    std::string_view name) {
  const auto found = folders_.find(name);
  if (found != folders_.end()) {
    return found->second;
  }
  const SearchRoot* root = roots_.Find(name);
  absl::StatusOr<RootFolder> folder =
      root == nullptr ? absl::NotFoundError("is in no search root")
                      : RootFolder::Open(root->folder);
  return folders_.emplace(name, std::move(folder)).first->second;
}

}  // namespace kiln::sources
