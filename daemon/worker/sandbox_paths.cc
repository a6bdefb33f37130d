// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox_paths.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace kiln::daemon {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReadable[] = {
    // Libraries, manifests and the data of drivers, also of NixOS, Guix,
    // Flatpak and the Steam runtime.
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/run/opengl-driver", "/run/opengl-driver-32", "/run/current-system/sw",
    "/run/host/usr", "/run/host/lib", "/run/host/lib64", "/app/lib",
    "/opt/amdgpu", "/opt/amdgpu-pro",
    // /etc holds secrets, too.
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/ld.so.preload", "/etc/alternatives", "/etc/vulkan", "/etc/glvnd",
    "/etc/nvidia", "/etc/amd", "/etc/drirc", "/etc/localtime",
    "/etc/os-release", "/etc/nsswitch.conf", "/etc/passwd",
    // What the kernel says of devices and of this process.
    "/proc", "/sys",
    // The executable, for those that look themselves up.
    "/proc/self/exe"};

constexpr const char* kDevices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                    "/dev/random", "/dev/urandom", "/dev/dri",
                                    "/dev/kfd",    "/dev/dxg"};

// Nodes of drivers that number them.
constexpr std::string_view kDevicePrefixes[] = {"nvidia", "mali"};

constexpr const char* kManifestFolders[] = {
    "vulkan/icd.d", "vulkan/explicit_layer.d", "vulkan/implicit_layer.d"};

// The absolute paths in a variable that holds some, with colons between.
std::vector<fs::path> PathsIn(const char* variable) {
  std::vector<fs::path> paths;
  const char* value = getenv(variable);
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (fs::path path(rest.substr(0, end)); path.is_absolute()) {
      paths.push_back(std::move(path));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return paths;
}

// The folder of the library that a manifest names by path; empty when it names
// none, or leaves the search to the linker.
fs::path LibraryFolder(const fs::path& manifest) {
  std::ifstream in(manifest, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  constexpr std::string_view kField = "\"library_path\"";
  const size_t field = text.find(kField);
  if (field == text.npos) {
    return {};
  }
  const size_t begin = text.find('"', field + kField.size());
  const size_t end = begin == text.npos ? begin : text.find('"', begin + 1);
  if (end == text.npos) {
    return {};
  }
  const fs::path library = text.substr(begin + 1, end - begin - 1);
  if (!library.has_parent_path()) {
    return {};
  }
  std::error_code error;
  return fs::weakly_canonical(manifest.parent_path() / library, error)
      .parent_path();
}

// A manifest, or a folder of them: readable, and with it the libraries named.
void AddManifests(const fs::path& path, std::vector<std::string>& readable) {
  std::error_code error;
  readable.push_back(path.string());
  std::vector<fs::path> manifests = {path};
  if (fs::is_directory(path, error)) {
    manifests.clear();
    for (const auto& entry : fs::directory_iterator(path, error)) {
      manifests.push_back(entry.path());
    }
  }
  for (const fs::path& manifest : manifests) {
    if (manifest.extension() != ".json") {
      continue;
    }
    if (const fs::path folder = LibraryFolder(manifest);
        folder.has_relative_path()) {  // never "/"
      readable.push_back(folder.string());
    }
  }
}

}  // namespace

FileAccess FilesOfDrivers() {
  FileAccess access;
  access.readable.assign(std::begin(kReadable), std::end(kReadable));
  access.devices.assign(std::begin(kDevices), std::end(kDevices));
  for (const char* name :
       {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_LAYER_PATH"}) {
    for (const fs::path& path : PathsIn(name)) {
      AddManifests(path, access.readable);
    }
  }
  std::vector<fs::path> data = PathsIn("XDG_DATA_DIRS");
  data.insert(data.end(), {"/usr/local/share", "/usr/share", "/etc"});
  for (const fs::path& folder : data) {
    for (const char* manifests : kManifestFolders) {
      AddManifests(folder / manifests, access.readable);
    }
  }
  for (const fs::path& folder : PathsIn("LD_LIBRARY_PATH")) {
    access.readable.push_back(folder.string());
  }
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    if (std::ranges::any_of(kDevicePrefixes, [&](std::string_view prefix) {
          return name.starts_with(prefix);
        })) {
      access.devices.push_back(entry.path().string());
    }
  }
  return access;
}

}  // namespace kiln::daemon
