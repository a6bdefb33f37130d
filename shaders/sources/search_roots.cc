// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/search_roots.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::sources {
namespace {

namespace fs = std::filesystem;

absl::Status CheckName(std::string_view name) {
  if (name.empty() || name == "." || name == ".." ||
      name.size() > kRootNameBytes || ToValidUtf8(name) != name ||
      name.find_first_of("/\n\t") != name.npos) {
    return absl::InvalidArgumentError(fmt::format(
        "root name {} is not one part of a path of at most {} printable bytes",
        QuoteName(name), kRootNameBytes));
  }
  return absl::OkStatus();
}

// As far as the folder exists, without symbolic links.
fs::path RealFolder(const fs::path& folder) {
  std::error_code failed;
  fs::path real = fs::weakly_canonical(folder, failed);
  return failed ? folder : real;
}

}  // namespace

absl::Status SearchRoots::Add(std::string_view name, std::string_view folder,
                              std::optional<size_t> position) {
  KILN_RETURN_IF_ERROR(CheckName(name));
  if (!folder.starts_with('/') || folder.find('\0') != folder.npos) {
    return absl::InvalidArgumentError(
        fmt::format("root {}: folder {} is not an absolute path",
                    QuoteName(name), QuoteName(folder)));
  }
  fs::path path = fs::path(folder).lexically_normal();
  if (!path.has_filename()) {
    path = path.parent_path();  // ended in '/'
  }
  const fs::path real = RealFolder(path);
  if (path == path.root_path() || real == real.root_path()) {
    return absl::InvalidArgumentError(fmt::format(
        "root {}: the whole file system is no search root", QuoteName(name)));
  }
  for (const SearchRoot& root : roots_) {
    if (root.name == name) {
      return absl::AlreadyExistsError(
          fmt::format("there is a root {} already, with folder {}",
                      QuoteName(name), QuoteName(root.folder)));
    }
    if (RealFolder(root.folder) == real) {
      return absl::AlreadyExistsError(
          fmt::format("root {}: folder {} is that of root {}", QuoteName(name),
                      QuoteName(folder), QuoteName(root.name)));
    }
  }
  if (roots_.size() >= limits::kSearchRoots) {
    return absl::ResourceExhaustedError(
        fmt::format("root {}: there are {} roots already, the limit",
                    QuoteName(name), roots_.size()));
  }
  const size_t index = position.value_or(roots_.size());
  if (index > roots_.size()) {
    return absl::InvalidArgumentError(
        fmt::format("root {}: position {} is past the end of {} roots",
                    QuoteName(name), index, roots_.size()));
  }
  roots_.insert(roots_.begin() + static_cast<ptrdiff_t>(index),
                {std::string(name), path.string()});
  return absl::OkStatus();
}

absl::Status SearchRoots::Remove(std::string_view name) {
  const auto found = std::ranges::find(roots_, name, &SearchRoot::name);
  if (found == roots_.end()) {
    return absl::NotFoundError(fmt::format("there is no root {}; there are: {}",
                                           QuoteName(name),
                                           fmt::join(Names(), ", ")));
  }
  roots_.erase(found);
  return absl::OkStatus();
}

const SearchRoot* SearchRoots::Find(std::string_view name) const {
  const auto found = std::ranges::find(roots_, name, &SearchRoot::name);
  return found == roots_.end() ? nullptr : &*found;
}

std::vector<std::string> SearchRoots::Names() const {
  std::vector<std::string> names;
  for (const SearchRoot& root : roots_) {
    names.push_back(root.name);
  }
  return names;
}

}  // namespace kiln::sources
