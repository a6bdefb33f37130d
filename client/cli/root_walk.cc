// SPDX-License-Identifier: Apache-2.0
#include "client/cli/root_walk.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "absl/status/statusor.h"
#include "proto/text.h"
#include "shaders/sources/root_file.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

absl::Status UnreadStatus(const fs::path& folder,
                          const std::error_code& error) {
  const bool denied = error == std::errc::permission_denied ||
                      error == std::errc::operation_not_permitted;
  return {denied ? absl::StatusCode::kPermissionDenied
                 : absl::StatusCode::kUnavailable,
          fmt::format("'{}' cannot be read: {}", ToValidUtf8(folder.string()),
                      error.message())};
}

class RootWalk {
 public:
  explicit RootWalk(const fs::path& folder)
      : folder_(folder), links_(sources::RootFolder::Open(folder.string())) {}

  RootFiles Run() {
    to_visit_.emplace_back();
    while (!to_visit_.empty()) {
      const std::string path = std::move(to_visit_.back());
      to_visit_.pop_back();
      Visit(path);
    }
    std::ranges::sort(found_.files);
    std::ranges::sort(found_.unread, {}, &UnreadFolder::path);
    return std::move(found_);
  }

 private:
  void Visit(const std::string& path) {
    const fs::path folder = path.empty() ? folder_ : folder_ / path;
    std::error_code error;
    fs::directory_iterator it(folder, error);
    for (; !error && it != fs::directory_iterator(); it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (!name.starts_with('.')) {
        Add(*it, path.empty() ? name : path + "/" + name);
      }
    }
    // One that was removed meanwhile has no files.
    if (error &&
        (path.empty() || error != std::errc::no_such_file_or_directory)) {
      AddUnread(path, folder, error);
    }
  }

  void Add(const fs::directory_entry& entry, std::string path) {
    std::error_code error;
    const fs::file_type type = entry.symlink_status(error).type();
    if (type == fs::file_type::directory) {
      to_visit_.push_back(std::move(path));
    } else if (type == fs::file_type::regular ||
               (type == fs::file_type::symlink && links_.ok() &&
                links_->Stat(path).ok())) {
      found_.files.push_back(std::move(path));
    } else if (type == fs::file_type::none) {
      AddUnread(path, entry.path(), error);
    }
  }

  void AddUnread(const std::string& path, const fs::path& folder,
                 const std::error_code& error) {
    found_.unread.push_back(
        {path, error.message(), UnreadStatus(folder, error)});
  }

  const fs::path folder_;
  // Follows links as kilnd does.
  const absl::StatusOr<sources::RootFolder> links_;
  std::vector<std::string> to_visit_;
  RootFiles found_;
};

}  // namespace

RootFiles WalkRoot(const fs::path& folder) {
  return RootWalk(folder).Run();
}

absl::Status CheckFolder(const fs::path& folder) {
  std::error_code error;
  const fs::file_type type = fs::status(folder, error).type();
  switch (type) {
    case fs::file_type::directory:
      return absl::OkStatus();
    case fs::file_type::not_found:
      break;
    case fs::file_type::none:
    case fs::file_type::unknown:
      return UnreadStatus(folder, error);
    default:
      return absl::InvalidArgumentError(fmt::format(
          "'{}' is a file, not a folder", ToValidUtf8(folder.string())));
  }
  // Below a file, nothing can come to be.
  for (fs::path above = folder.parent_path(); above.has_relative_path();
       above = above.parent_path()) {
    if (fs::exists(above, error)) {
      if (!fs::is_directory(above, error)) {
        return absl::InvalidArgumentError(fmt::format(
            "'{}' is below a file, '{}'", ToValidUtf8(folder.string()),
            ToValidUtf8(above.string())));
      }
      break;
    }
  }
  return absl::NotFoundError(
      fmt::format("no folder '{}'", ToValidUtf8(folder.string())));
}

}  // namespace kiln::cli
