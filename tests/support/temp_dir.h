// SPDX-License-Identifier: Apache-2.0
#pragma once

// A folder of one test's own. Its name is short, so that a Unix socket inside
// it stays below the 107 bytes that its path may have.

#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace kiln::testing {

// Makes a folder under $TMPDIR (or /tmp), or under `parent`, and deletes it,
// with all it holds, when destroyed. Aborts when it cannot be made: no test can
// go on without. Thread-compatible.
class TempDir {
 public:
  TempDir() : TempDir(std::filesystem::temp_directory_path()) {}

  explicit TempDir(const std::filesystem::path& parent) {
    std::string name = (parent / "kiln-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      std::perror(name.c_str());
      std::abort();
    }
    path_ = name;
  }

  TempDir(const TempDir&) = delete;  // owns the folder
  TempDir& operator=(const TempDir&) = delete;

  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  // A path inside the folder; nothing is created.
  std::filesystem::path operator/(const std::filesystem::path& name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace kiln::testing
