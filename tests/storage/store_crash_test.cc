// SPDX-License-Identifier: Apache-2.0

// What is there after the process was killed, and after its log was damaged.

#include "storage/variant_store.h"
#include "tests/storage/store_child.h"
#include "tests/storage/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::storage {
namespace {

class StoreCrashTest : public StoreTest {
 protected:
  // How many of the first `count` samples are stored; all of them must be
  // whole.
  uint32_t CountStored(uint32_t count) {
    uint32_t stored = 0;
    for (uint32_t features = 0; features < count; ++features) {
      const Artifact wanted = SampleArtifact(features);
      auto found = store().GetArtifact(wanted.target, wanted.key);
      EXPECT_OK(found);
      if (found.ok() && found->has_value()) {
        EXPECT_EQ((*found)->blob, wanted.blob);
        ++stored;
      }
    }
    return stored;
  }
};

TEST_F(StoreCrashTest, EverythingAcknowledgedIsThereAfterKillMinusNine) {
  uint32_t before = 0;
  for (const uint32_t acknowledged : {1u, 300u, 5000u}) {
    const uint32_t count = WriteUntilKilled(folder(), acknowledged);
    ASSERT_GE(count, acknowledged);
    before = std::max(before, count);
    Reopen();
    EXPECT_EQ(CountStored(before), before);
    EXPECT_TRUE(store().GetModule(DigestOf("vertex"))->has_value());
    ExpectDamaged(0);
    Close();
  }
}

TEST_F(StoreCrashTest, TornFinalRecordIsDroppedOnReopen) {
  const uint32_t count = WriteUntilKilled(folder(), 100);
  const auto logs = FilesNamed(folder(), ".log");
  ASSERT_FALSE(logs.empty());
  std::filesystem::resize_file(logs.back(),
                               std::filesystem::file_size(logs.back()) - 100);
  Reopen();
  EXPECT_GE(CountStored(count), count - 1);
  EXPECT_OK(store().PutArtifact(SampleArtifact(0), {}));
  ExpectDamaged(0);
}

TEST_F(StoreCrashTest, DamagedByteInTheLogCostsFewEntriesAndIsCounted) {
  const uint32_t count = WriteUntilKilled(folder(), 1000);
  const auto logs = FilesNamed(folder(), ".log");
  ASSERT_FALSE(logs.empty());
  std::string content = ReadFile(logs.back());
  content[content.size() / 3] ^= 0x55;
  WriteFile(logs.back(), content);
  Reopen();
  EXPECT_GE(CountStored(count), count - 20);
  EXPECT_LT(CountStored(count), count + 1);
  EXPECT_GT(store().counters().dropped_log_bytes, 0u);
  ExpectDamaged(0);
}

}  // namespace
}  // namespace kiln::storage
