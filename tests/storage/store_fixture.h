// SPDX-License-Identifier: Apache-2.0
#pragma once

// What all tests of the store share: a folder, sample values whose content is
// fixed for ever, and ways to reach the bytes on disk behind the store's back.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "proto/artifact.h"
#include "proto/module_interface.h"
#include "proto/target.h"
#include "storage/variant_store.h"
#include "tests/support/raw_store.h"
#include "tests/support/temp_dir.h"

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
}  // namespace rocksdb

namespace kiln::storage {

using ::kiln::testing::TempDir;

Digest DigestOf(std::string_view text);

// SPIR-V's place is taken by text; the store does not look inside.
Module SampleModule(std::string_view text);

// Kind "opaque", no overrides, of the program DigestOf("program").
VariantKey SampleKey(uint32_t features);

// Its target is DigestOf("target"), its one module SampleModule("vertex").
Artifact SampleArtifact(uint32_t features, size_t blob_bytes = 3000);

// A compute module's, with one of everything.
ModuleInterface SampleInterface();

// Told from others by its device's name, which is one of its fields.
TargetIdentity SampleTarget(std::string_view device);

using testing::EditRaw;
using testing::FlipBit;

// Every file of the folder with this extension (".sst") or stem ("CURRENT").
std::vector<std::filesystem::path> FilesNamed(
    const std::filesystem::path& folder, std::string_view ending);

std::string ReadFile(const std::filesystem::path& file);
void WriteFile(const std::filesystem::path& file, std::string_view content);

class StoreTest : public ::testing::Test {
 protected:
  StoreTest();

  // Closes the store, if it is open, and opens it again.
  VariantStore& Reopen();

  void Close() { store_.reset(); }

  VariantStore& store() { return *store_; }

  // Fails the test unless exactly `count` entries were found damaged, each with
  // one line in the log.
  void ExpectDamaged(uint64_t count);

  std::filesystem::path folder() const { return dir_ / "db"; }

  StoreOptions options();

  std::vector<std::string> log_;

 private:
  // In a memory file system where there is one: no test here is about the disk
  // itself, and a new store costs some 20 fsyncs, 200 ms.
  TempDir dir_;
  std::unique_ptr<VariantStore> store_;
};

}  // namespace kiln::storage
