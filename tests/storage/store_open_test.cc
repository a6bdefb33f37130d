// SPDX-License-Identifier: Apache-2.0

// Opening: which folders are accepted, and what is said about the others.

#include <sys/stat.h>

#include <cstdint>
#include <limits>

#include <rocksdb/db.h>

#include "proto/canonical.h"
#include "storage/database.h"
#include "storage/envelope.h"
#include "storage/variant_store.h"
#include "tests/storage/store_child.h"
#include "tests/storage/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::storage {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class StoreOpenTest : public StoreTest {
 protected:
  void DropFamiliesOfSchema3() {
    StoreCounters counters;
    ASSERT_OK_AND_ASSIGN(auto database,
                         Database::Open(folder(), options(), counters));
    EXPECT_OK(database->DropFamilies({Family::kProgramIndex,
                                      Family::kInterfaces, Family::kShaders,
                                      Family::kSnapshots, Family::kSurfaces,
                                      Family::kTargets, Family::kRoots}));
  }

  void PutSchema(uint32_t version) {
    EditRaw(folder(), "meta",
            [&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* column) {
              CanonicalWriter out;
              out.U32(version);
              const Bytes value =
                  SealEnvelope(ValueKind::kSchema, "schema", out.bytes());
              const std::string_view text = AsText(value);
              ASSERT_TRUE(db.Put({}, column, "schema",
                                 rocksdb::Slice(text.data(), text.size()))
                              .ok());
            });
  }
};

TEST_F(StoreOpenTest, FolderIsMadeWithItsParents) {
  EXPECT_OK(VariantStore::Open(folder() / "a" / "b", options()));
}

TEST_F(StoreOpenTest, UnknownColumnFamilyIsToleratedAndKept) {
  Reopen();
  EXPECT_OK(store().PutModule(DigestOf("m"), AsBytes("m")));
  Close();
  EditRaw(folder(), "blobs_v2",
          [](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* column) {
            ASSERT_TRUE(db.Put({}, column, "a", "1").ok());
          });
  Reopen();
  EXPECT_TRUE(store().GetModule(DigestOf("m"))->has_value());
  Close();
  EditRaw(folder(), "blobs_v2",
          [](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* column) {
            std::string value;
            EXPECT_TRUE(db.Get({}, column, "a", &value).ok());
            EXPECT_EQ(value, "1");
          });
}

TEST_F(StoreOpenTest, StoreWithoutItsFamiliesGetsThem) {
  {
    rocksdb::Options raw;
    raw.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(raw, folder().string(), &db).ok());
    delete db;
  }
  Reopen();
  EXPECT_OK(store().PutArtifact(SampleArtifact(1),
                                std::vector{SampleModule("vertex")}));
}

TEST_F(StoreOpenTest, NewerSchemaIsRefusedNamingBothVersions) {
  Reopen();
  Close();
  PutSchema(kSchemaVersion + 6);
  EXPECT_THAT(VariantStore::Open(folder(), options()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("schema version 10"),
                             HasSubstr("up to version 4"),
                             HasSubstr(folder().string()))));
  PutSchema(kSchemaVersion);
  EXPECT_OK(VariantStore::Open(folder(), options()));
}

// Nothing that an older schema holds can be asked for by an id of version 4: it
// is deleted, not counted as damage row by row.
TEST_F(StoreOpenTest, OlderSchemaIsEmptiedAndBecomesThisOne) {
  const Artifact old = SampleArtifact(1);
  for (const uint32_t version : {1u, 2u, 3u}) {
    SCOPED_TRACE(version);
    Reopen();
    EXPECT_OK(store().PutArtifact(old, std::vector{SampleModule("vertex")}));
    EXPECT_OK(store().PutProgram(DigestOf("text"), AsBytes("text")));
    EXPECT_OK(store().PutFrontEnd(DigestOf("text"), "v", {old.modules}));
    EXPECT_OK(store().PutTuning(old.target, DigestOf("text"), {{}, 1, 1}));
    EXPECT_OK(store().PutSnapshots(DigestOf("recipe"), {{DigestOf("s"), 1}}));
    EXPECT_OK(store().PutSurfaces(DigestOf("text"), AsBytes("surfaces")));
    Close();
    if (version < 3) {
      DropFamiliesOfSchema3();
    }
    PutSchema(version);
    Reopen();
    EXPECT_FALSE(store().GetProgram(DigestOf("text"))->has_value());
    EXPECT_FALSE(store().GetModule(DigestOf("vertex"))->has_value());
    EXPECT_FALSE(store().GetFrontEnd(DigestOf("text"), "v")->has_value());
    EXPECT_FALSE(store().GetTuning(old.target, DigestOf("text"))->has_value());
    EXPECT_FALSE(store().GetArtifact(old.target, old.key)->has_value());
    EXPECT_TRUE(store().GetSnapshots(DigestOf("recipe"))->empty());
    EXPECT_FALSE(store().GetSurfaces(DigestOf("text"))->has_value());
    EXPECT_EQ(store().ListPrograms(Digest(), 10)->programs.size(), 0u);
    EXPECT_EQ(store().ListArtifacts("", 10)->artifacts.size(), 0u);
    EXPECT_EQ(store().counts().artifacts, 0u);
    EXPECT_EQ(store().counters().damaged_entries, 0u);
    const Artifact put = SampleArtifact(2);
    EXPECT_OK(store().PutArtifact(put, std::vector{SampleModule("vertex")}));
    EXPECT_OK(store().PutRoots(AsBytes("roots")));
    Reopen();
    EXPECT_TRUE(store().GetArtifact(put.target, put.key)->has_value());
    EXPECT_TRUE(store().GetRoots()->has_value());
  }
}

TEST_F(StoreOpenTest, StoreOfThisSchemaKeepsEverything) {
  Reopen();
  EXPECT_OK(store().PutProgram(DigestOf("text"), AsBytes("text")));
  EXPECT_OK(store().PutTuning(DigestOf("t"), DigestOf("text"), {{}, 1, 1}));
  Close();
  PutSchema(kSchemaVersion);
  Reopen();
  EXPECT_TRUE(store().GetProgram(DigestOf("text"))->has_value());
  EXPECT_TRUE(store().GetTuning(DigestOf("t"), DigestOf("text"))->has_value());
}

TEST_F(StoreOpenTest, DamagedSchemaRowIsDataLoss) {
  Reopen();
  Close();
  FlipBit(folder(), "meta", "schema", 0);
  EXPECT_THAT(VariantStore::Open(folder(), options()),
              StatusIs(absl::StatusCode::kDataLoss, "schema row"));
}

TEST_F(StoreOpenTest, PathBelowARegularFileIsNotAFolder) {
  std::filesystem::create_directories(folder());
  WriteFile(folder() / "file", "x");
  for (const auto& path : {folder() / "file", folder() / "file" / "db"}) {
    EXPECT_THAT(
        VariantStore::Open(path, options()),
        StatusIs(absl::StatusCode::kFailedPrecondition,
                 AllOf(HasSubstr("not a folder"), HasSubstr(path.string()))));
  }
}

TEST_F(StoreOpenTest, FolderThatTheUserMayNotWriteIsPermissionDenied) {
  Reopen();
  Close();
  chmod(folder().parent_path().c_str(), 0755);
  chmod(folder().c_str(), 0555);
  EXPECT_EQ(OpenAsNobody(folder()), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(OpenAsNobody(folder() / "new"),
            absl::StatusCode::kPermissionDenied);
  chmod(folder().c_str(), 0755);
}

TEST_F(StoreOpenTest, FolderWithFilesOfAnotherUserIsPermissionDenied) {
  Reopen();
  Close();
  chmod(folder().parent_path().c_str(), 0755);
  chmod(folder().c_str(), 0777);
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    chmod(entry.path().c_str(), 0600);
  }
  EXPECT_EQ(OpenAsNobody(folder()), absl::StatusCode::kPermissionDenied);
}

TEST_F(StoreOpenTest, SecondOpenOfOneFolderIsUnavailable) {
  Reopen();
  EXPECT_THAT(VariantStore::Open(folder(), options()),
              StatusIs(absl::StatusCode::kUnavailable, folder().string()));
  EXPECT_OK(store().PutModule(DigestOf("m"), AsBytes("m")));
}

TEST_F(StoreOpenTest, WritesBelowTheFreeSpaceFloorAreRefusedAndReadsGoOn) {
  Reopen();
  const Artifact kept = SampleArtifact(1);
  EXPECT_OK(store().PutArtifact(kept, std::vector{SampleModule("vertex")}));
  Close();
  StoreOptions full = options();
  full.free_space_floor_bytes = std::numeric_limits<uint64_t>::max();
  ASSERT_OK_AND_ASSIGN(auto store, VariantStore::Open(folder(), full));
  EXPECT_THAT(
      store->PutArtifact(SampleArtifact(2), {}),
      StatusIs(absl::StatusCode::kResourceExhausted, "under the floor"));
  EXPECT_EQ(store->counters().refused_writes, 1u);
  EXPECT_TRUE(store->GetArtifact(kept.target, kept.key)->has_value());
}

TEST_F(StoreOpenTest, ManyOpensLeaveNoLogFilesBehind) {
  for (int i = 0; i < 5; ++i) {
    Reopen();
  }
  EXPECT_TRUE(FilesNamed(folder(), "LOG").empty());
}

}  // namespace
}  // namespace kiln::storage
