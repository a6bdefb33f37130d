// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads files beneath one folder and nothing else (KNOWN_FAULTS 25): by no
// "..", absolute path or symbolic link is anything outside it opened. Only
// regular files are opened at all: a pipe would block, a device act.
//
// What a path may mean is in include_paths.h; what is read once and kept, in
// source_cache.h.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shaders/sources/descriptor.h"

namespace kiln::sources {

// What stat says of one file. While it stays the same nobody has written to the
// file, but for writes so close together that the clock did not tick between
// them (source_cache.h).
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size_bytes = 0;
  int64_t modified_ns = 0;  // mtime, since the epoch
  int64_t changed_ns = 0;   // ctime

  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

struct FileContent {
  std::string bytes;
  FileIdentity identity;
};

// How a path is followed.
enum class PathWalk {
  kKernel,      // openat2: symbolic links that stay inside are followed
  kComponents,  // part by part, for kernels without it: no link is followed
};

// An open folder. Stays with that folder when another takes its place, so it
// is for one pass over the sources, not to keep. Thread-safe.
//
// Messages say what is wrong with a file, not which ("is a directory"), and
// never quote it. Codes, of every call:
//   NotFound            nothing is there, or a part of the path is no folder
//   InvalidArgument     not a regular file, too large, a circle of links
//   PermissionDenied    unreadable, or it leads out of the folder
//   Unavailable         may pass: no descriptors, an I/O error, a file that
//                       changed each time it was read
class RootFolder {
 public:
  // `walk` kKernel means kComponents where the kernel cannot do it. Blocks:
  // disk.
  static absl::StatusOr<RootFolder> Open(const std::string& folder,
                                         PathWalk walk = PathWalk::kKernel);

  // Blocks: disk; opens nothing for reading.
  absl::StatusOr<FileIdentity> Stat(const std::string& path) const;

  // Returns: all of a file as it was at one moment. Blocks: disk.
  absl::StatusOr<FileContent> Read(const std::string& path) const;

 private:
  RootFolder(Descriptor folder, PathWalk walk)
      : folder_(std::move(folder)), walk_(walk) {}

  absl::StatusOr<Descriptor> OpenBeneath(const std::string& path,
                                         int flags) const;

  Descriptor folder_;
  PathWalk walk_;
};

}  // namespace kiln::sources
