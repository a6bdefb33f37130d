// SPDX-License-Identifier: Apache-2.0
#pragma once

// A folder of shader sources that a test edits the ways editors do.

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace kiln::testing {

// Thread-compatible. Deleted with the object.
class SourceFolder {
 public:
  std::filesystem::path path() const { return folder_.path(); }

  // Truncates and writes in place.
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }

  // Writes a temporary file beside it and renames that over it.
  void Save(const std::string& name, const std::string& text) {
    Write(name + ".tmp", text);
    std::filesystem::rename(folder_ / (name + ".tmp"), folder_ / name);
  }

  void Remove(const std::string& name) {
    std::filesystem::remove_all(folder_ / name);
  }

 private:
  TempDir folder_;
};

}  // namespace kiln::testing
