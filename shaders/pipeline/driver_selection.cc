// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/driver_selection.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "proto/status_macros.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/loaded_library.h"

namespace kiln::pipeline {
namespace {

namespace fs = std::filesystem;

// Switches that add layers, or change what a driver compiles without changing
// what it says it is (KNOWN_FAULTS 13).
constexpr const char* kUnset[] = {
    "ACO_DEBUG",
    "AMD_DEBUG",
    "ENABLE_VKBASALT",
    "ENABLE_VULKAN_RENDERDOC_CAPTURE",
    "GALLIVM_DEBUG",
    "GALLIVM_PERF",
    "LP_DEBUG",
    "LP_NATIVE_VECTOR_WIDTH",
    "LP_PERF",
    "MANGOHUD",
    "MESA_DEBUG",
    "MESA_VK_DEVICE_SELECT",
    "NIR_DEBUG",
    "OBS_VKCAPTURE",
    "RADV_DEBUG",
    "RADV_FORCE_FAMILY",
    "RADV_FORCE_VRS",
    "RADV_PERFTEST",
    "RADV_TEX_ANISO",
    "RADV_THREAD_TRACE",
    "VK_INSTANCE_LAYERS",
    "VK_LOADER_DRIVERS_DISABLE",
    "VK_LOADER_DRIVERS_SELECT",
    "VK_LOADER_LAYERS_ENABLE",
};

struct Setting {
  const char* name;
  const char* value;
};

constexpr Setting kSet[] = {
    {"MESA_SHADER_CACHE_DISABLE", "true"},
    {"MESA_GLSL_CACHE_DISABLE", "true"},  // the older name of the same
    {"__GL_SHADER_DISK_CACHE", "0"},      // NVIDIA
    {"NODEVICE_SELECT", "1"},             // Mesa's device-select layer
    {"VK_LOADER_LAYERS_DISABLE", "~implicit~"},
};

// Names in the driver's table that are not a prefix and a number.
constexpr std::string_view kFamilyWords[] = {
    "TAHITI",    "PITCAIRN", "VERDE",     "OLAND", "HAINAN",  "BONAIRE",
    "KABINI",    "KAVERI",   "HAWAII",    "TONGA", "ICELAND", "CARRIZO",
    "FIJI",      "STONEY",   "VEGAM",     "RAVEN", "RENOIR",  "ARCTURUS",
    "ALDEBARAN", "VANGOGH",  "REMBRANDT",
};
constexpr std::string_view kFamilyPrefixes[] = {"GFX", "NAVI", "POLARIS",
                                                "RAVEN", "VEGA"};

ABSL_CONST_INIT absl::Mutex selected_mutex(absl::kConstInit);
std::optional<TargetSpec> selected ABSL_GUARDED_BY(selected_mutex);

std::vector<fs::path> IcdFolders() {
  std::vector<fs::path> folders;
  const char* dirs = getenv("XDG_DATA_DIRS");
  std::string_view rest = dirs == nullptr ? "" : dirs;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) {
      folders.push_back(fs::path(rest.substr(0, end)) / "vulkan/icd.d");
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const char* folder : {"/usr/local/share", "/usr/share", "/etc"}) {
    fs::path path = fs::path(folder) / "vulkan/icd.d";
    if (std::ranges::find(folders, path) == folders.end()) {
      folders.push_back(std::move(path));
    }
  }
  return folders;
}

// The manifests named `<prefix>*.json` of the first folder that has any: one
// per architecture, of which the loader takes its own.
absl::StatusOr<std::vector<fs::path>> FindManifests(std::string_view prefix) {
  const std::vector<fs::path> folders = IcdFolders();
  for (const fs::path& folder : folders) {
    std::vector<fs::path> found;
    std::error_code error;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(prefix) && name.ends_with(".json")) {
        found.push_back(entry.path());
      }
    }
    if (!found.empty()) {
      std::ranges::sort(found);
      return found;
    }
  }
  std::vector<std::string> names;
  names.reserve(folders.size());
  for (const fs::path& folder : folders) {
    names.push_back(folder.string());
  }
  return absl::NotFoundError(fmt::format(
      "no Vulkan driver manifest {}*.json in {} (Debian: mesa-vulkan-drivers)",
      prefix, fmt::join(names, ", ")));
}

// The "library_path" of a manifest, as dlopen takes it.
std::string LibraryOf(const fs::path& manifest) {
  std::ifstream file(manifest);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t key = text.find("\"library_path\"");
  const size_t colon = key == text.npos ? key : text.find(':', key);
  const size_t start = colon == text.npos ? colon : text.find('"', colon);
  const size_t end = start == text.npos ? start : text.find('"', start + 1);
  if (end == text.npos) {
    return {};
  }
  const fs::path library = text.substr(start + 1, end - start - 1);
  return library.has_parent_path() ? (manifest.parent_path() / library).string()
                                   : library.string();
}

// `family` in upper case if it is shaped like one of the driver's names.
std::optional<std::string> FamilyWord(std::string_view family) {
  std::string word(family);
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return std::toupper(c); });
  if (std::ranges::find(kFamilyWords, word) != std::ranges::end(kFamilyWords)) {
    return word;
  }
  for (const std::string_view prefix : kFamilyPrefixes) {
    if (word.starts_with(prefix) && word.size() > prefix.size() &&
        std::isdigit(static_cast<unsigned char>(word[prefix.size()])) != 0) {
      return word;
    }
  }
  return std::nullopt;
}

// RADV aborts the process on a family it does not know (Mesa 22.3), so the name
// is looked for in the driver's own table before it is asked. Loads the driver
// for good: the loader needs it next anyway.
absl::Status CheckFamily(std::string_view family,
                         const std::vector<fs::path>& manifests) {
  const absl::Status unknown =
      absl::NotFoundError(fmt::format("RADV has no GPU family '{}'; it has, "
                                      "for example, vangogh, navi21, gfx1100",
                                      family));
  const std::optional<std::string> word = FamilyWord(family);
  if (!word.has_value()) {
    return unknown;
  }
  std::string tried;
  for (const fs::path& manifest : manifests) {
    const std::string library = LibraryOf(manifest);
    void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) {
      tried += fmt::format(" {}", dlerror());
      continue;
    }
    const void* inside = dlsym(loaded, "vk_icdGetInstanceProcAddr");
    const std::string_view with_end(word->c_str(), word->size() + 1);
    return inside != nullptr && LibraryContains(inside, with_end)
               ? absl::OkStatus()
               : unknown;
  }
  return absl::NotFoundError(fmt::format("RADV cannot be loaded:{}", tried));
}

void SetManifests(const std::vector<fs::path>& manifests) {
  std::string list;
  for (const fs::path& manifest : manifests) {
    list += (list.empty() ? "" : ":") + manifest.string();
  }
  setenv("VK_DRIVER_FILES", list.c_str(), 1);
  setenv("VK_ICD_FILENAMES", list.c_str(), 1);  // the name older loaders know
}

void ScrubEnvironment() {
  for (const char* name : kUnset) {
    unsetenv(name);
  }
  for (const Setting& setting : kSet) {
    setenv(setting.name, setting.value, 1);
  }
}

absl::Status SelectRadv(const std::string& family) {
  KILN_ASSIGN_OR_RETURN(const std::vector<fs::path> manifests,
                        FindManifests("radeon_icd"));
  SetManifests(manifests);
  KILN_RETURN_IF_ERROR(CheckFamily(family, manifests));
  setenv("RADV_FORCE_FAMILY", family.c_str(), 1);
  return absl::OkStatus();
}

absl::Status SelectLavapipe() {
  KILN_ASSIGN_OR_RETURN(const std::vector<fs::path> manifests,
                        FindManifests("lvp_icd"));
  SetManifests(manifests);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckDriverSelected(const TargetSpec& spec) {
  absl::MutexLock lock(&selected_mutex);
  if (selected == spec) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      fmt::format("SelectDriver was called for {}, not for {}",
                  selected.has_value() ? selected->ToString() : "nothing",
                  spec.ToString()));
}

absl::Status SelectDriver(const TargetSpec& spec) {
  absl::MutexLock lock(&selected_mutex);
  ScrubEnvironment();
  switch (spec.driver) {
    case TargetSpec::Driver::kRadvNull:
      KILN_RETURN_IF_ERROR(SelectRadv(spec.family));
      break;
    case TargetSpec::Driver::kLavapipe:
      KILN_RETURN_IF_ERROR(SelectLavapipe());
      break;
    case TargetSpec::Driver::kFake:
      return absl::NotFoundError(
          fmt::format("there is no driver for target {}: only a worker made "
                      "for tests has it",
                      spec.ToString()));
    case TargetSpec::Driver::kGpu:
      if (selected.has_value() &&
          selected->driver != TargetSpec::Driver::kGpu) {
        unsetenv("VK_DRIVER_FILES");  // what an earlier call set
        unsetenv("VK_ICD_FILENAMES");
      }
      break;
  }
  selected = spec;
  return absl::OkStatus();
}

}  // namespace kiln::pipeline
