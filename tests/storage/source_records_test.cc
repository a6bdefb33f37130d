// SPDX-License-Identifier: Apache-2.0
#include "storage/source_records.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "proto/limits.h"
#include "proto/module_interface.h"
#include "storage/variant_store.h"
#include "tests/storage/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::storage {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::ElementsAreArray;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Optional;

class SourceRecordsTest : public StoreTest {
 protected:
  SourceRecordsTest() { Reopen(); }

  void PutModule(std::string_view text) {
    EXPECT_OK(store().PutModule(DigestOf(text), AsBytes(text)));
  }
};

TEST_F(SourceRecordsTest, InterfaceComesBackAsItWasPutAlsoWithoutItsModule) {
  const Bytes canonical = EncodeInterface(SampleInterface());
  EXPECT_OK(store().PutInterface(DigestOf("m"), canonical));
  Reopen();
  EXPECT_THAT(*store().GetInterface(DigestOf("m")), Optional(Eq(canonical)));
  EXPECT_THAT(*store().GetInterface(DigestOf("n")), Eq(std::nullopt));
}

TEST_F(SourceRecordsTest, BytesThatAreNoInterfaceAreRefused) {
  Bytes canonical = EncodeInterface(SampleInterface());
  canonical.push_back({});
  EXPECT_THAT(store().PutInterface(DigestOf("m"), canonical),
              StatusIs(absl::StatusCode::kInvalidArgument, "interface"));
  EXPECT_THAT(store().PutInterface(DigestOf("m"), AsBytes("text")),
              StatusIs(absl::StatusCode::kInvalidArgument, "interface"));
  EXPECT_THAT(*store().GetInterface(DigestOf("m")), Eq(std::nullopt));
}

TEST_F(SourceRecordsTest, InterfaceCutAtAnyLengthIsRefused) {
  const Bytes canonical = EncodeInterface(SampleInterface());
  for (size_t size = 0; size < canonical.size(); ++size) {
    EXPECT_FALSE(
        store()
            .PutInterface(DigestOf("m"), ByteView(canonical).first(size))
            .ok())
        << size;
  }
}

TEST_F(SourceRecordsTest, ShaderIsRememberedPerSourceSetAndCompiler) {
  PutModule("vertex");
  PutModule("fragment");
  const StoredShader first = {{Stage::kVertex, DigestOf("vertex")}, ""};
  const StoredShader second = {{Stage::kFragment, DigestOf("fragment")},
                               "a.frag:3: warning: unused\n"};
  EXPECT_OK(store().PutShader(DigestOf("set"), "shaderc 1", first));
  EXPECT_OK(store().PutShader(DigestOf("set"), "shaderc 2", first));
  EXPECT_OK(store().PutShader(DigestOf("set"), "shaderc 2", second));
  Reopen();
  EXPECT_THAT(*store().GetShader(DigestOf("set"), "shaderc 1"),
              Optional(Eq(first)));
  EXPECT_THAT(*store().GetShader(DigestOf("set"), "shaderc 2"),
              Optional(Eq(second)));
  EXPECT_THAT(*store().GetShader(DigestOf("set"), "shaderc"), Eq(std::nullopt));
  EXPECT_THAT(*store().GetShader(DigestOf("other"), "shaderc 1"),
              Eq(std::nullopt));
  EXPECT_THAT(*store().GetFrontEnd(DigestOf("set"), "shaderc 1"),
              Eq(std::nullopt));
}

TEST_F(SourceRecordsTest, ShaderWhoseModuleIsAbsentIsRefused) {
  EXPECT_THAT(
      store().PutShader(DigestOf("set"), "v",
                        {{Stage::kFragment, DigestOf("gone")}, ""}),
      StatusIs(absl::StatusCode::kFailedPrecondition, "fragment module"));
  EXPECT_THAT(*store().GetShader(DigestOf("set"), "v"), Eq(std::nullopt));
}

TEST_F(SourceRecordsTest, ShaderOverALimitIsRefused) {
  PutModule("vertex");
  StoredShader shader = {{Stage::kVertex, DigestOf("vertex")}, ""};
  EXPECT_THAT(
      store().PutShader(DigestOf("set"), std::string(1025, 'v'), shader),
      StatusIs(absl::StatusCode::kInvalidArgument, "compiler version"));
  shader.warnings.assign(4 * limits::kDiagnosticBytes + 1, 'w');
  EXPECT_THAT(store().PutShader(DigestOf("set"), "v", shader),
              StatusIs(absl::StatusCode::kInvalidArgument, "warnings"));
  shader.warnings.pop_back();
  EXPECT_OK(store().PutShader(DigestOf("set"), "v", shader));
}

TEST_F(SourceRecordsTest, SnapshotsKeepTheirOrderAndTimes) {
  const std::vector<SnapshotRecord> first = {{DigestOf("a"), 1}};
  const std::vector<SnapshotRecord> second = {
      {DigestOf("b"), uint64_t{1} << 40}, {DigestOf("a"), 1}};
  EXPECT_OK(store().PutSnapshots(DigestOf("recipe"), first));
  EXPECT_OK(store().PutSnapshots(DigestOf("recipe"), second));
  Reopen();
  EXPECT_THAT(*store().GetSnapshots(DigestOf("recipe")),
              ElementsAreArray(second));
  EXPECT_THAT(*store().GetSnapshots(DigestOf("a")), IsEmpty());
  EXPECT_OK(store().PutSnapshots(DigestOf("recipe"), {}));
  EXPECT_THAT(*store().GetSnapshots(DigestOf("recipe")), IsEmpty());
  ExpectDamaged(0);
}

TEST_F(SourceRecordsTest, RecipeIsFoundByAnyOfItsSnapshots) {
  for (int i = 0; i < 300; ++i) {
    const std::string name = std::to_string(i);
    ASSERT_OK(store().PutSnapshots(
        DigestOf("recipe " + name),
        {{DigestOf("new " + name), 2}, {DigestOf("old " + name), 1}}));
  }
  EXPECT_EQ(*store().FindRecipe(DigestOf("old 299")), DigestOf("recipe 299"));
  EXPECT_EQ(*store().FindRecipe(DigestOf("new 0")), DigestOf("recipe 0"));
  EXPECT_EQ(*store().FindRecipe(DigestOf("recipe 0")), std::nullopt);
}

TEST_F(SourceRecordsTest, SeventeenSnapshotsOrOneTwiceAreRefused) {
  std::vector<SnapshotRecord> snapshots;
  for (size_t i = 0; i < kSnapshotsPerRecipe; ++i) {
    snapshots.push_back({DigestOf(std::to_string(i)), i});
  }
  EXPECT_OK(store().PutSnapshots(DigestOf("recipe"), snapshots));
  EXPECT_THAT(*store().GetSnapshots(DigestOf("recipe")),
              ElementsAreArray(snapshots));
  snapshots.push_back({DigestOf("more"), 17});
  EXPECT_THAT(store().PutSnapshots(DigestOf("recipe"), snapshots),
              StatusIs(absl::StatusCode::kInvalidArgument, "limit of 16"));
  EXPECT_THAT(store().PutSnapshots(DigestOf("recipe"),
                                   {{DigestOf("a"), 2}, {DigestOf("a"), 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "twice"));
  EXPECT_EQ(store().GetSnapshots(DigestOf("recipe"))->size(),
            kSnapshotsPerRecipe);
}

TEST_F(SourceRecordsTest, EmptySurfacesDeleteTheRecord) {
  EXPECT_OK(store().PutSurfaces(DigestOf("p"), AsBytes("one")));
  EXPECT_OK(store().PutSurfaces(DigestOf("q"), AsBytes("two")));
  Reopen();
  EXPECT_THAT(*store().GetSurfaces(DigestOf("p")),
              Optional(Eq(ToBytes(AsBytes("one")))));
  EXPECT_OK(store().PutSurfaces(DigestOf("p"), {}));
  EXPECT_OK(store().PutSurfaces(DigestOf("never put"), {}));
  Reopen();
  EXPECT_THAT(*store().GetSurfaces(DigestOf("p")), Eq(std::nullopt));
  EXPECT_THAT(*store().GetSurfaces(DigestOf("q")),
              Optional(Eq(ToBytes(AsBytes("two")))));
}

TEST_F(SourceRecordsTest, SurfacesOverTheLimitAreRefused) {
  const std::string huge(limits::kProgramBytes + 1, 's');
  EXPECT_THAT(store().PutSurfaces(DigestOf("p"), AsBytes(huge)),
              StatusIs(absl::StatusCode::kInvalidArgument, "over the limit"));
}

TEST_F(SourceRecordsTest, TargetComesBackWithEveryField) {
  const TargetIdentity put = SampleTarget("AMD RADV VANGOGH");
  EXPECT_OK(store().PutTarget(put));
  Reopen();
  ASSERT_OK_AND_ASSIGN(auto found, store().GetTarget(put.Id()));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->device_name, put.device_name);
  EXPECT_EQ(found->fields, put.fields);
  EXPECT_FALSE(store().GetTarget(DigestOf("other"))->has_value());
}

TEST_F(SourceRecordsTest, TargetThatIsStoredIsNotWrittenAgain) {
  const TargetIdentity put = SampleTarget("AMD RADV VANGOGH");
  TargetIdentity renamed = put;  // the name has no part in the id
  renamed.device_name = "AMD Custom GPU 0405";
  EXPECT_OK(store().PutTarget(put));
  EXPECT_OK(store().PutTarget(renamed));
  EXPECT_EQ(store().GetTarget(put.Id())->value().device_name, put.device_name);
  Reopen();  // nothing is known of it by now
  EXPECT_OK(store().PutTarget(renamed));
  EXPECT_EQ(store().GetTarget(put.Id())->value().device_name, put.device_name);
}

TEST_F(SourceRecordsTest, TargetWithTooManyFieldsIsRefused) {
  TargetIdentity identity = SampleTarget("many");
  identity.fields.resize(4097);
  EXPECT_THAT(store().PutTarget(identity),
              StatusIs(absl::StatusCode::kInvalidArgument, "4097 fields"));
}

TEST_F(SourceRecordsTest, EveryTargetIsListedOnceById) {
  EXPECT_THAT(*store().ListTargets(), IsEmpty());
  std::set<Digest> put;
  for (const char* name : {"a", "b", "c", "a"}) {
    EXPECT_OK(store().PutTarget(SampleTarget(name)));
    put.insert(SampleTarget(name).Id());
  }
  std::vector<Digest> listed;
  ASSERT_OK_AND_ASSIGN(auto targets, store().ListTargets());
  for (const TargetIdentity& identity : targets) {
    listed.push_back(identity.Id());
  }
  EXPECT_THAT(listed, ElementsAreArray(put));
}

TEST_F(SourceRecordsTest, LastRootsPutAreThere) {
  EXPECT_THAT(*store().GetRoots(), Eq(std::nullopt));
  EXPECT_OK(store().PutRoots(AsBytes("first")));
  EXPECT_OK(store().PutRoots(AsBytes("second")));
  Reopen();
  EXPECT_THAT(*store().GetRoots(), Optional(Eq(ToBytes(AsBytes("second")))));
  EXPECT_OK(store().PutRoots({}));  // no roots, which is not a miss
  EXPECT_THAT(*store().GetRoots(), Optional(Eq(Bytes())));
  const std::string huge((1u << 20) + 1, 'r');
  EXPECT_THAT(store().PutRoots(AsBytes(huge)),
              StatusIs(absl::StatusCode::kInvalidArgument, "over the limit"));
}

TEST_F(SourceRecordsTest, ProgramsAreListedInPagesOfTheAskedSize) {
  std::set<Digest> put;
  for (int i = 0; i < 25; ++i) {
    const std::string text = std::to_string(i);
    EXPECT_OK(store().PutProgram(DigestOf(text), AsBytes(text)));
    EXPECT_OK(store().PutProgram(DigestOf(text), AsBytes(text)));
    put.insert(DigestOf(text));
  }
  Reopen();
  std::vector<Digest> listed;
  std::vector<size_t> sizes;
  Digest after;
  do {
    ASSERT_OK_AND_ASSIGN(ProgramPage page, store().ListPrograms(after, 10));
    sizes.push_back(page.programs.size());
    listed.insert(listed.end(), page.programs.begin(), page.programs.end());
    after = page.next;
  } while (!after.is_none());
  EXPECT_THAT(listed, ElementsAreArray(put));
  EXPECT_THAT(sizes, ::testing::ElementsAre(10, 10, 5));
}

TEST_F(SourceRecordsTest, LastFullPageOfProgramsSaysThatItIsTheLast) {
  EXPECT_THAT(store().ListPrograms({}, 10)->programs, IsEmpty());
  EXPECT_OK(store().PutProgram(DigestOf("a"), AsBytes("a")));
  EXPECT_OK(store().PutProgram(DigestOf("b"), AsBytes("b")));
  EXPECT_TRUE(store().ListPrograms({}, 2)->next.is_none());
  EXPECT_FALSE(store().ListPrograms({}, 1)->next.is_none());
  EXPECT_EQ(store().ListPrograms({}, 0)->programs.size(), 1u);
}

// An id that was listed last may be gone when the next page is asked for.
TEST_F(SourceRecordsTest, ProgramsAfterAnIdThatIsNotStoredAreListed) {
  std::set<Digest> put;
  for (const char* text : {"a", "b", "c", "d"}) {
    EXPECT_OK(store().PutProgram(DigestOf(text), AsBytes(text)));
    put.insert(DigestOf(text));
  }
  const Digest absent = DigestOf("absent");
  put.erase(put.begin(), put.lower_bound(absent));
  EXPECT_THAT(store().ListPrograms(absent, 10)->programs,
              ElementsAreArray(put));
}

}  // namespace
}  // namespace kiln::storage
