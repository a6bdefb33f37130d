// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/store_fixture.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include "tests/support/status_matchers.h"

namespace kiln::storage {

Digest DigestOf(std::string_view text) {
  return Digest::Of(AsBytes(text));
}

Module SampleModule(std::string_view text) {
  return {DigestOf(text), ToBytes(AsBytes(text))};
}

VariantKey SampleKey(uint32_t features) {
  VariantKey key;
  key.program = DigestOf("program");
  key.kind = "opaque";
  key.backdrop = "none";
  key.blend = "alpha";
  key.features = features;
  return key;
}

Artifact SampleArtifact(uint32_t features, size_t blob_bytes) {
  Artifact artifact;
  artifact.target = DigestOf("target");
  artifact.key = SampleKey(features);
  artifact.modules = {{Stage::kVertex, DigestOf("vertex")}};
  artifact.constants = {{2, features}};
  for (size_t i = 0; i < blob_bytes; ++i) {
    artifact.blob.push_back(static_cast<std::byte>(i * 31 + features));
  }
  artifact.proof = Proof::kProven;
  artifact.compile_us = 8900;
  artifact.cost.registers = 32;
  artifact.cost.code_bytes = 4096;
  artifact.statistics = {{"Fragment Shader", "VGPRs", 32}};
  artifact.provenance = "shaderc 2023.2; Mesa 22.3.6";
  return artifact;
}

ModuleInterface SampleInterface() {
  ModuleInterface interface;
  interface.entry_point = "main";
  interface.bindings = {{"albedo", 0, 1, "combined_image_sampler", 8}};
  interface.push_constants = {{"tint", 0, 16}};
  interface.constants = {{7, "WIDTH", ConstantType::kUint32, 64, true}};
  interface.inputs = {{"uv", 0, 2, "vec2", 1}};
  interface.outputs = {{"color", 1, 0, "vec4", 3}};
  interface.workgroup_size = {64, 2, 1};
  interface.workgroup_size_ids[0] = 7;
  return interface;
}

TargetIdentity SampleTarget(std::string_view device) {
  return {std::string(device),
          {{"device_name", std::string(device)}, {"vendor_id", "0x1002"}}};
}

std::vector<std::filesystem::path> FilesNamed(
    const std::filesystem::path& folder, std::string_view ending) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().ends_with(ending)) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::string ReadFile(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteFile(const std::filesystem::path& file, std::string_view content) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
}

StoreTest::StoreTest()
    : dir_(access("/dev/shm", W_OK) == 0
               ? std::filesystem::path("/dev/shm")
               : std::filesystem::temp_directory_path()) {}

StoreOptions StoreTest::options() {
  StoreOptions options;
  options.log = [this](std::string line) { log_.push_back(std::move(line)); };
  return options;
}

VariantStore& StoreTest::Reopen() {
  store_.reset();
  auto store = VariantStore::Open(folder(), options());
  EXPECT_OK(store);
  if (!store.ok()) {
    std::abort();  // no test can go on, and references cannot be null
  }
  store_ = *std::move(store);
  return *store_;
}

void StoreTest::ExpectDamaged(uint64_t count) {
  EXPECT_EQ(store().counters().damaged_entries, count);
  EXPECT_EQ(std::ranges::count_if(
                log_,
                [](const std::string& line) {
                  return line.find("is damaged and dropped") != line.npos;
                }),
            static_cast<std::ptrdiff_t>(count));
}

}  // namespace kiln::storage
