// SPDX-License-Identifier: Apache-2.0

// The direction of dependency (DESIGN section 4): which folder may include
// what. Reads the sources themselves, so it also sees headers that no target
// happens to compile.

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kiln {
namespace {

namespace fs = std::filesystem;

// A folder and what its files may include of ours; the longest prefix counts.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"proto", {"proto"}},
    {"storage", {"storage", "proto"}},
    {"shaders", {"shaders", "proto"}},
    {"shaders/pipeline", {"shaders/pipeline", "proto"}},
    {"shaders/sources", {"shaders/sources", "proto"}},
    {"shaders/lab", {"shaders", "proto"}},
    {"shaders/surface", {"shaders/surface", "shaders/sources", "proto"}},
    {"client", {"client", "proto"}},
    {"client/cli", {"client", "proto", "shaders"}},
    {"client/vulkan", {"client", "proto", "shaders/pipeline"}},
    {"client/demo", {"client", "proto", "shaders/pipeline"}},
    {"daemon",
     {"daemon", "proto", "storage", "shaders/sources", "shaders/surface"}},
    {"daemon/worker", {"daemon/worker", "proto", "shaders"}},
};

// Heavy or layer-bound headers, and the folders whose .cc files may have them.
const std::map<std::string, std::set<std::string>> kThirdParty = {
    {"rocksdb/", {"storage"}},
    {"shaderc/", {"shaders"}},
    {"spirv-tools/", {"shaders"}},
    {"spirv_cross/", {"shaders"}},
    {"vulkan/", {"shaders/pipeline", "shaders/lab"}},
    {"png.h", {"shaders/lab"}},
    {"boost/asio", {"daemon"}},
    {"grpcpp/", {"proto", "client", "daemon"}},
    {"kiln/", {"proto", "client", "daemon"}},  // generated
    {"../", {}},
};

// Headers that exist to be included by the .cc files of their own folder only.
const std::set<std::string> kInternalHeaders = {
    "shaders/pipeline/device_handles.h",
    "shaders/pipeline/attachments.h",
    "shaders/pipeline/device_features.h",
    "shaders/pipeline/graphics_description.h",
    "shaders/pipeline/identity.h",
    "shaders/pipeline/pipeline_layout.h",
    "shaders/pipeline/pipeline_state.h",
    "shaders/pipeline/specialization.h",
    "shaders/pipeline/statistics.h",
    "shaders/pipeline/vulkan_names.h",
    "shaders/lab/commands.h",
    "shaders/lab/descriptor_sets.h",
    "shaders/lab/kernel.h",
    "shaders/lab/lab_device.h",
    "shaders/lab/render_target.h",
    "shaders/lab/sample_reader.h",
    "shaders/lab/upload_batch.h",
    "shaders/parsed_module.h",
    "storage/checked_rows.h",
    "storage/database.h",
    "storage/schema.h",
    "daemon/stream_call.h",
    "daemon/register_call.h",
    "daemon/artifact_call.h",
    "daemon/module_call.h",
    "daemon/surface_call.h",
    "daemon/worker_slot.h",
    "client/stream.h",
    "client/blocking.h",
    "client/jobs.h",
    "proto/toml_table.h",
};

bool IsIn(const std::string& path, const std::string& folder) {
  return path.rfind(folder + "/", 0) == 0;
}

std::string FolderRule(const std::string& path) {
  std::string best;
  for (const auto& [folder, allowed] : kMayInclude) {
    if (IsIn(path, folder) && folder.size() > best.size()) {
      best = folder;
    }
  }
  return best;
}

std::vector<std::string> Includes(const fs::path& file) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::vector<std::string> includes;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (std::smatch match; std::regex_search(line, match, kInclude)) {
      includes.push_back(match[1]);
    }
  }
  return includes;
}

// What is wrong with `path` including `included`; empty: nothing.
std::string Fault(const std::string& path, const std::string& included) {
  const std::string rule = FolderRule(path);
  if (!FolderRule(included).empty()) {
    for (const std::string& allowed : kMayInclude.at(rule)) {
      if (IsIn(included, allowed)) {
        return "";
      }
    }
    return path + " may not include " + included;
  }
  for (const auto& [prefix, folders] : kThirdParty) {
    if (included.rfind(prefix, 0) != 0) {
      continue;
    }
    const bool in_folder =
        std::any_of(folders.begin(), folders.end(),
                    [&](const std::string& f) { return IsIn(path, f); });
    const bool in_header =
        path.ends_with(".h") && !kInternalHeaders.contains(path);
    if (!in_folder || in_header) {
      return path + " may not include <" + included + ">";
    }
  }
  return "";
}

TEST(LayeringTest, EveryFolderIncludesOnlyWhatLiesBelowIt) {
  const fs::path root = KILN_SOURCE_DIR;
  size_t files = 0;
  for (const char* top : {"proto", "storage", "shaders", "client", "daemon"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string path = fs::relative(entry.path(), root).string();
      if (!path.ends_with(".h") && !path.ends_with(".cc")) {
        continue;
      }
      ++files;
      for (const std::string& included : Includes(entry.path())) {
        EXPECT_EQ(Fault(path, included), "");
      }
    }
  }
  EXPECT_GT(files, 50u) << "the walk found no sources";
}

TEST(LayeringTest, TheRulesRefuseWhatTheyShould) {
  EXPECT_NE(Fault("storage/variant_store.cc", "shaders/compiler.h"), "");
  EXPECT_NE(Fault("client/client.cc", "storage/variant_store.h"), "");
  EXPECT_NE(Fault("client/client.cc", "vulkan/vulkan.h"), "");
  EXPECT_NE(Fault("daemon/service.cc", "client/client.h"), "");
  EXPECT_NE(Fault("daemon/service.cc", "shaders/compiler.h"), "");
  EXPECT_NE(Fault("storage/variant_store.h", "rocksdb/db.h"), "");
  EXPECT_NE(Fault("proto/digest.cc", "storage/envelope.h"), "");
  EXPECT_NE(Fault("storage/variant_store.cc", "kiln/v1/kiln.pb.h"), "");
  EXPECT_NE(Fault("storage/variant_store.cc", "../shaders/compiler.h"), "");
  EXPECT_EQ(Fault("storage/variant_store.cc", "rocksdb/db.h"), "");
  EXPECT_EQ(Fault("daemon/worker/job_runner.cc", "shaders/compiler.h"), "");
}

}  // namespace
}  // namespace kiln
