// SPDX-License-Identifier: Apache-2.0

// One test per kind of damage. In each, what was damaged is a miss, or the
// store is recovered as a whole; never are wrong bytes served. Damage that is
// the same for every kind of row is in record_damage_test.cc.

#include <rocksdb/db.h>

#include "proto/canonical.h"
#include "storage/envelope.h"
#include "storage/store_recovery.h"
#include "storage/variant_store.h"
#include "tests/storage/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::storage {
namespace {

using ::testing::HasSubstr;

std::string Row(const Artifact& artifact) {
  return std::string(artifact.target.raw()).append(KeyId(artifact.key).raw());
}

class StoreDamageTest : public StoreTest {
 protected:
  StoreDamageTest() {
    Reopen();
    for (uint32_t features = 0; features < kCount; ++features) {
      EXPECT_OK(store().PutArtifact(SampleArtifact(features),
                                    std::vector{SampleModule("vertex")}));
    }
    EXPECT_OK(store().PutProgram(DigestOf("program"), AsBytes("program")));
    EXPECT_OK(store().PutFrontEnd(DigestOf("program"), "v",
                                  {SampleArtifact(0).modules}));
    Close();
  }

  bool Has(uint32_t features) {
    const Artifact wanted = SampleArtifact(features);
    auto found = store().GetArtifact(wanted.target, wanted.key);
    EXPECT_OK(found);
    const bool hit = found.ok() && found->has_value();
    EXPECT_TRUE(!hit || EncodeArtifact(**found) == EncodeArtifact(wanted));
    return hit;
  }

  uint32_t CountHits() {
    uint32_t hits = 0;
    for (uint32_t features = 0; features < kCount; ++features) {
      hits += Has(features) ? 1 : 0;
    }
    return hits;
  }

  static constexpr uint32_t kCount = 50;
};

TEST_F(StoreDamageTest, FlippedBitInAnArtifactIsAMissThatIsDeletedAndCounted) {
  FlipBit(folder(), "artifacts", Row(SampleArtifact(3)), 1000);
  Reopen();
  EXPECT_FALSE(Has(3));
  ExpectDamaged(1);
  EXPECT_THAT(log_.back(), HasSubstr("checksum mismatch"));
  EXPECT_FALSE(Has(3));
  ExpectDamaged(1);  // deleted: the second miss is an ordinary one
  EXPECT_EQ(CountHits(), kCount - 1);
  EXPECT_EQ(store().ListArtifacts("", 100)->artifacts.size(), kCount - 1);
  EXPECT_OK(store().PutArtifact(SampleArtifact(3), {}));
  EXPECT_TRUE(Has(3));
}

TEST_F(StoreDamageTest, DamagedArtifactIsLeftOutOfListsAndSearches) {
  FlipBit(folder(), "artifacts", Row(SampleArtifact(3)), 1000);
  FlipBit(folder(), "artifacts", Row(SampleArtifact(4)), 1000);
  Reopen();
  EXPECT_EQ(store().FindArtifacts(KeyId(SampleKey(4)).Hex(), 2)->size(), 0u);
  EXPECT_EQ(store().ListArtifacts("", 100)->artifacts.size(), kCount - 2);
  ExpectDamaged(2);
}

TEST_F(StoreDamageTest, ModuleFoundDamagedCanBePutAgainAtOnce) {
  FlipBit(folder(), "modules", std::string(DigestOf("vertex").raw()), 0);
  Reopen();
  EXPECT_FALSE(store().GetModule(DigestOf("vertex"))->has_value());
  EXPECT_OK(store().PutModule(DigestOf("vertex"), AsBytes("vertex")));
  EXPECT_TRUE(store().GetModule(DigestOf("vertex"))->has_value());
}

TEST_F(StoreDamageTest, ArtifactThatLiesInTheRowOfAnotherIsAMiss) {
  EditRaw(
      folder(), "artifacts",
      [](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* column) {
        std::string value;
        ASSERT_TRUE(db.Get({}, column, Row(SampleArtifact(1)), &value).ok());
        ASSERT_TRUE(db.Put({}, column, Row(SampleArtifact(2)), value).ok());
      });
  Reopen();
  EXPECT_FALSE(Has(2));
  EXPECT_TRUE(Has(1));
  ExpectDamaged(1);
}

TEST_F(StoreDamageTest, SealedArtifactOfAnotherTargetIsAMiss) {
  Artifact other = SampleArtifact(2);
  other.target = DigestOf("other");
  EditRaw(folder(), "artifacts",
          [&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* column) {
            const std::string row = Row(SampleArtifact(2));
            const Bytes value =
                SealEnvelope(ValueKind::kArtifact, row, EncodeArtifact(other));
            const std::string_view text = AsText(value);
            ASSERT_TRUE(db.Put({}, column, row,
                               rocksdb::Slice(text.data(), text.size()))
                            .ok());
          });
  Reopen();
  EXPECT_FALSE(Has(2));
  ExpectDamaged(1);
  EXPECT_THAT(log_.back(), HasSubstr("another target or key"));
}

TEST_F(StoreDamageTest, SealedModuleWithAnotherDigestIsAMiss) {
  EditRaw(folder(), "modules",
          [](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* column) {
            const std::string row(DigestOf("vertex").raw());
            const Bytes value =
                SealEnvelope(ValueKind::kModule, row, AsBytes("another"));
            const std::string_view text = AsText(value);
            ASSERT_TRUE(db.Put({}, column, row,
                               rocksdb::Slice(text.data(), text.size()))
                            .ok());
          });
  Reopen();
  EXPECT_FALSE(store().GetModule(DigestOf("vertex"))->has_value());
  ExpectDamaged(1);
}

TEST_F(StoreDamageTest, SealedTargetWithTheFieldsOfAnotherIsAMiss) {
  const Digest wanted = SampleTarget("wanted").Id();
  const Digest other = SampleTarget("other").Id();
  Reopen();
  EXPECT_OK(store().PutTarget(SampleTarget("wanted")));
  EXPECT_OK(store().PutTarget(SampleTarget("other")));
  Close();
  EditRaw(
      folder(), "targets",
      [&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* column) {
        const std::string row(wanted.raw());
        std::string value;
        ASSERT_TRUE(db.Get({}, column, std::string(other.raw()), &value).ok());
        const Bytes resealed =
            SealEnvelope(ValueKind::kTarget, row,
                         AsBytes(value).subspan(kEnvelopeHeaderBytes));
        const std::string_view text = AsText(resealed);
        ASSERT_TRUE(
            db.Put({}, column, row, rocksdb::Slice(text.data(), text.size()))
                .ok());
      });
  Reopen();
  EXPECT_EQ(store().ListTargets()->size(), 1u);
  ExpectDamaged(1);
  EXPECT_THAT(log_, ::testing::Contains(HasSubstr("another target")));
  EXPECT_FALSE(store().GetTarget(wanted)->has_value());
  EXPECT_OK(store().PutTarget(SampleTarget("wanted")));
  EXPECT_TRUE(store().GetTarget(wanted)->has_value());
}

TEST_F(StoreDamageTest, DamagedProgramIsListedUntilItIsMet) {
  FlipBit(folder(), "programs", std::string(DigestOf("program").raw()), 0);
  Reopen();
  EXPECT_EQ(store().ListPrograms({}, 10)->programs.size(), 1u);
  EXPECT_FALSE(store().GetProgram(DigestOf("program"))->has_value());
  EXPECT_EQ(store().ListPrograms({}, 10)->programs.size(), 0u);
  EXPECT_OK(store().PutProgram(DigestOf("program"), AsBytes("program")));
  EXPECT_EQ(store().ListPrograms({}, 10)->programs.size(), 1u);
}

TEST_F(StoreDamageTest, FlippedByteInABlobFileCostsOneEntry) {
  const auto files = FilesNamed(folder(), ".blob");
  ASSERT_EQ(files.size(), 1u);
  std::string content = ReadFile(files.front());
  content[content.size() / 2] ^= 0x55;
  WriteFile(files.front(), content);
  Reopen();
  EXPECT_EQ(CountHits(), kCount - 1);
  ExpectDamaged(1);
}

TEST_F(StoreDamageTest, TruncatedBlobFileCostsTheEntriesAfterTheCut) {
  const auto files = FilesNamed(folder(), ".blob");
  ASSERT_EQ(files.size(), 1u);
  std::filesystem::resize_file(files.front(),
                               std::filesystem::file_size(files.front()) / 2);
  ASSERT_OK_AND_ASSIGN(RecoveredStore recovered,
                       OpenOrRecover(folder(), options()));
  EXPECT_TRUE(recovered.store->GetModule(DigestOf("vertex"))->has_value());
}

TEST_F(StoreDamageTest, DamagedTableFilesNeverServeWrongBytesNorStopWrites) {
  for (const auto& file : FilesNamed(folder(), ".sst")) {
    std::string content = ReadFile(file);
    content[content.size() / 4] ^= 0x55;
    WriteFile(file, content);
  }
  ASSERT_OK_AND_ASSIGN(RecoveredStore recovered,
                       OpenOrRecover(folder(), options()));
  for (uint32_t features = 0; features < kCount; ++features) {
    const Artifact wanted = SampleArtifact(features);
    auto found = recovered.store->GetArtifact(wanted.target, wanted.key);
    EXPECT_TRUE(!found.ok() || !found->has_value() ||
                (*found)->blob == wanted.blob);
    EXPECT_OK(recovered.store->PutArtifact(
        wanted, std::vector{SampleModule("vertex")}));
  }
}

TEST_F(StoreDamageTest, LostManifestIsRepairedAndProgramsAreKept) {
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().filename().string().starts_with("MANIFEST")) {
      std::filesystem::resize_file(entry.path(), 0);
    }
  }
  EXPECT_TRUE(
      absl::IsDataLoss(VariantStore::Open(folder(), options()).status()));
  ASSERT_OK_AND_ASSIGN(RecoveredStore recovered,
                       OpenOrRecover(folder(), options()));
  EXPECT_THAT(recovered.note, HasSubstr("repaired"));
  EXPECT_TRUE(recovered.store->GetProgram(DigestOf("program"))->has_value());
  EXPECT_TRUE(recovered.store->GetModule(DigestOf("vertex"))->has_value());
  EXPECT_OK(recovered.store->PutArtifact(SampleArtifact(0), {}));
  EXPECT_TRUE(recovered.store->GetArtifact(DigestOf("target"), SampleKey(0))
                  ->has_value());
}

TEST_F(StoreDamageTest, LostTableFileIsRepaired) {
  std::filesystem::remove(FilesNamed(folder(), ".sst").front());
  ASSERT_OK_AND_ASSIGN(RecoveredStore recovered,
                       OpenOrRecover(folder(), options()));
  EXPECT_THAT(recovered.note, HasSubstr("repaired"));
  EXPECT_EQ(recovered.store->ListArtifacts("", 100)->artifacts.size(), 0u);
  EXPECT_EQ(recovered.store->counts().artifacts, 0u);
}

TEST_F(StoreDamageTest, EveryKindOfDamageToTheFolderEndsInAUsableStore) {
  const auto manifest = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      if (entry.path().filename().string().starts_with("MANIFEST")) {
        return entry.path();
      }
    }
    return std::filesystem::path();
  };
  const std::vector<std::function<void()>> damages = {
      [&] { std::filesystem::remove(folder() / "CURRENT"); },
      [&] { std::filesystem::resize_file(folder() / "CURRENT", 0); },
      [&] { std::filesystem::remove(manifest()); },
      [&] {
        std::string content = ReadFile(manifest());
        content[content.size() / 2] ^= 0x55;
        WriteFile(manifest(), content);
      },
      [&] {
        std::filesystem::resize_file(FilesNamed(folder(), ".sst").back(), 0);
      },
      [&] { std::filesystem::remove(FilesNamed(folder(), ".blob").front()); },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    SCOPED_TRACE(i);
    damages[i]();
    ASSERT_OK_AND_ASSIGN(RecoveredStore recovered,
                         OpenOrRecover(folder(), options()));
    for (uint32_t features = 0; features < kCount; ++features) {
      EXPECT_OK(recovered.store->GetArtifact(DigestOf("target"),
                                             SampleKey(features)));
    }
    EXPECT_OK(recovered.store->PutArtifact(
        SampleArtifact(0), std::vector{SampleModule("vertex")}));
    EXPECT_TRUE(recovered.store->GetArtifact(DigestOf("target"), SampleKey(0))
                    ->has_value());
  }
}

TEST_F(StoreDamageTest, MergeThatMeetsDamageIsCountedAndWritesGoOn) {
  std::filesystem::path largest;
  for (const auto& file : FilesNamed(folder(), ".sst")) {
    if (largest.empty() || std::filesystem::file_size(file) >
                               std::filesystem::file_size(largest)) {
      largest = file;
    }
  }
  std::string content = ReadFile(largest);
  content[content.size() / 4] ^= 0x55;
  WriteFile(largest, content);

  StoreOptions small = options();  // so that there is soon something to merge
  small.write_buffer_bytes = 256u << 10;
  small.log_bytes = 128u << 10;
  ASSERT_OK_AND_ASSIGN(auto opened, VariantStore::Open(folder(), small));
  uint32_t features = kCount;
  const uint32_t limit = kCount + 20000;
  const auto put = [&] {
    Artifact artifact = SampleArtifact(features++);
    EXPECT_OK(
        opened->PutArtifact(artifact, std::vector{SampleModule("vertex")}));
  };
  while (opened->counters().damaged_merges == 0 && features < limit) {
    put();
  }
  EXPECT_EQ(opened->counters().damaged_merges, 1u);
  for (int i = 0; i < 500; ++i) {
    put();
  }
  EXPECT_EQ(opened->counters().damaged_merges, 1u);
}

TEST_F(StoreDamageTest, WholeStoreOpensWithoutANote) {
  ASSERT_OK_AND_ASSIGN(RecoveredStore recovered,
                       OpenOrRecover(folder(), options()));
  EXPECT_EQ(recovered.note, "");
}

TEST_F(StoreDamageTest, StoreBeyondRepairIsSetAsideAndStartedEmpty) {
  Reopen();
  Close();
  FlipBit(folder(), "meta", "schema", 0);
  ASSERT_OK_AND_ASSIGN(RecoveredStore recovered,
                       OpenOrRecover(folder(), options()));
  EXPECT_THAT(recovered.note, HasSubstr(folder().string() + ".damaged-"));
  EXPECT_FALSE(recovered.store->GetProgram(DigestOf("program"))->has_value());
  EXPECT_OK(
      recovered.store->PutProgram(DigestOf("program"), AsBytes("program")));
}

}  // namespace
}  // namespace kiln::storage
