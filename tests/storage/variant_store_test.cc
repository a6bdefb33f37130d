// SPDX-License-Identifier: Apache-2.0
#include "storage/variant_store.h"

#include <algorithm>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "proto/limits.h"
#include "tests/storage/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::storage {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::Eq;
using ::testing::Optional;

class VariantStoreTest : public StoreTest {
 protected:
  VariantStoreTest() { Reopen(); }

  // Puts an artifact and its module.
  Artifact PutSample(uint32_t features, size_t blob_bytes = 3000) {
    Artifact artifact = SampleArtifact(features, blob_bytes);
    EXPECT_OK(store().PutArtifact(artifact, modules_));
    return artifact;
  }

  const std::vector<Module> modules_ = {SampleModule("vertex")};
};

TEST_F(VariantStoreTest, ProgramComesBackAsItWasPut) {
  EXPECT_OK(store().PutProgram(DigestOf("text"), AsBytes("text")));
  EXPECT_THAT(*store().GetProgram(DigestOf("text")),
              Optional(Eq(ToBytes(AsBytes("text")))));
}

TEST_F(VariantStoreTest, AbsentProgramIsAMissAndNotAnError) {
  EXPECT_THAT(*store().GetProgram(DigestOf("text")), Eq(std::nullopt));
}

TEST_F(VariantStoreTest, ContentUnderAnotherDigestIsRefused) {
  EXPECT_THAT(store().PutProgram(DigestOf("a"), AsBytes("b")),
              StatusIs(absl::StatusCode::kInvalidArgument, "another digest"));
  EXPECT_THAT(store().PutModule(DigestOf("a"), AsBytes("b")),
              StatusIs(absl::StatusCode::kInvalidArgument, "another digest"));
  EXPECT_THAT(*store().GetModule(DigestOf("a")), Eq(std::nullopt));
}

TEST_F(VariantStoreTest, ModuleOverTheLimitIsRefused) {
  const std::string huge(limits::kModuleBytes + 1, 'x');
  EXPECT_THAT(store().PutModule(DigestOf(huge), AsBytes(huge)),
              StatusIs(absl::StatusCode::kInvalidArgument, "over the limit"));
}

TEST_F(VariantStoreTest, ModuleIsNotAProgram) {
  EXPECT_OK(store().PutModule(DigestOf("same"), AsBytes("same")));
  EXPECT_THAT(*store().GetProgram(DigestOf("same")), Eq(std::nullopt));
  EXPECT_OK(store().PutProgram(DigestOf("same"), AsBytes("same")));
  EXPECT_TRUE(store().GetProgram(DigestOf("same"))->has_value());
}

TEST_F(VariantStoreTest, FrontEndIsRememberedPerProgramAndCompiler) {
  EXPECT_OK(store().PutModule(DigestOf("vertex"), AsBytes("vertex")));
  EXPECT_OK(store().PutModule(DigestOf("fragment"), AsBytes("fragment")));
  const FrontEnd front_end = {{{Stage::kVertex, DigestOf("vertex")},
                               {Stage::kFragment, DigestOf("fragment")}},
                              {"NEVER_READ"}};
  EXPECT_OK(store().PutFrontEnd(DigestOf("p"), "shaderc 2023.2", front_end));
  EXPECT_THAT(*store().GetFrontEnd(DigestOf("p"), "shaderc 2023.2"),
              Optional(Eq(front_end)));
  EXPECT_THAT(*store().GetFrontEnd(DigestOf("p"), "shaderc 2023.3"),
              Eq(std::nullopt));
  EXPECT_THAT(*store().GetFrontEnd(DigestOf("p"), "shaderc 2023."),
              Eq(std::nullopt));
  EXPECT_THAT(*store().GetFrontEnd(DigestOf("q"), "shaderc 2023.2"),
              Eq(std::nullopt));
}

TEST_F(VariantStoreTest, TuningIsRememberedPerTargetAndProgram) {
  const Tuning slow = {{{"WIDTH", 32}}, 5000, 4};
  const Tuning fast = {{{"HEIGHT", 2}, {"WIDTH", uint64_t{1} << 40}}, 900, 12};
  EXPECT_OK(store().PutTuning(DigestOf("t"), DigestOf("p"), slow));
  EXPECT_OK(store().PutTuning(DigestOf("t"), DigestOf("p"), fast));
  Reopen();
  EXPECT_THAT(*store().GetTuning(DigestOf("t"), DigestOf("p")),
              Optional(Eq(fast)));
  EXPECT_THAT(*store().GetTuning(DigestOf("p"), DigestOf("t")),
              Eq(std::nullopt));
}

TEST_F(VariantStoreTest, FrontEndThatNamesAnAbsentModuleIsRefused) {
  EXPECT_THAT(
      store().PutFrontEnd(DigestOf("p"), "v",
                          {{{Stage::kFragment, DigestOf("gone")}}}),
      StatusIs(absl::StatusCode::kFailedPrecondition, "fragment module"));
}

TEST_F(VariantStoreTest, ArtifactComesBackWithEveryField) {
  const Artifact put = PutSample(5);
  ASSERT_OK_AND_ASSIGN(auto found, store().GetArtifact(put.target, put.key));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(EncodeArtifact(*found), EncodeArtifact(put));
  EXPECT_TRUE(store().GetModule(DigestOf("vertex"))->has_value());
}

TEST_F(VariantStoreTest, ArtifactBelowTheBlobFileThresholdComesBackToo) {
  const Artifact put = PutSample(5, 32);
  EXPECT_THAT(store().GetArtifactById(put.target, KeyId(put.key))->value().blob,
              Eq(put.blob));
}

TEST_F(VariantStoreTest, ArtifactAskedUnderAnotherTargetIsAMiss) {
  const Artifact put = PutSample(5);
  EXPECT_THAT(*store().GetArtifactById(DigestOf("other"), KeyId(put.key)),
              Eq(std::nullopt));
  ExpectDamaged(0);
}

TEST_F(VariantStoreTest, ArtifactAskedUnderAnotherKeyIsAMiss) {
  const Artifact put = PutSample(5);
  VariantKey other = put.key;
  other.blend = "add";
  EXPECT_FALSE(store().GetArtifact(put.target, other)->has_value());
  ExpectDamaged(0);
}

TEST_F(VariantStoreTest, LaterArtifactOfTheSameKeyReplacesTheEarlier) {
  Artifact artifact = PutSample(5);
  artifact.compile_us = 1;
  EXPECT_OK(store().PutArtifact(artifact, {}));
  EXPECT_EQ(
      store().GetArtifact(artifact.target, artifact.key)->value().compile_us,
      1u);
}

TEST_F(VariantStoreTest, ArtifactThatNamesAnAbsentModuleIsRefusedWhole) {
  const Artifact artifact = SampleArtifact(5);
  EXPECT_THAT(store().PutArtifact(artifact, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "vertex module"));
  EXPECT_FALSE(store().GetArtifact(artifact.target, artifact.key)->has_value());
}

TEST_F(VariantStoreTest, ArtifactWhoseModuleIsFalseIsRefusedWhole) {
  const Artifact artifact = SampleArtifact(5);
  const std::vector<Module> modules = {
      {DigestOf("vertex"), ToBytes(AsBytes("other"))}};
  EXPECT_THAT(store().PutArtifact(artifact, modules),
              StatusIs(absl::StatusCode::kInvalidArgument, "another digest"));
  EXPECT_FALSE(store().GetArtifact(artifact.target, artifact.key)->has_value());
}

TEST_F(VariantStoreTest, ArtifactWithoutTargetIsRefused) {
  Artifact artifact = SampleArtifact(5);
  artifact.target = Digest();
  EXPECT_THAT(store().PutArtifact(artifact, modules_),
              StatusIs(absl::StatusCode::kInvalidArgument, "names no target"));
}

TEST_F(VariantStoreTest, EverythingIsThereAfterReopen) {
  EXPECT_OK(store().PutProgram(DigestOf("text"), AsBytes("text")));
  const Artifact put = PutSample(5);
  EXPECT_OK(store().PutFrontEnd(DigestOf("text"), "v", {put.modules}));
  Reopen();
  EXPECT_TRUE(store().GetProgram(DigestOf("text"))->has_value());
  EXPECT_TRUE(store().GetModule(DigestOf("vertex"))->has_value());
  EXPECT_TRUE(store().GetFrontEnd(DigestOf("text"), "v")->has_value());
  EXPECT_TRUE(store().GetArtifact(put.target, put.key)->has_value());
  EXPECT_EQ(store().counts().artifacts, 1u);
  EXPECT_EQ(store().counts().programs, 1u);
  EXPECT_GT(store().counts().disk_bytes, 3000u);
}

TEST_F(VariantStoreTest, BytesThatAreOnlyInTheLogYetAreCounted) {
  PutSample(5);
  EXPECT_GT(store().counts().disk_bytes, 3000u);
}

TEST_F(VariantStoreTest, SyncAndCloseMayBeRepeated) {
  PutSample(5);
  EXPECT_OK(store().Sync());
  EXPECT_OK(store().Sync());
  EXPECT_OK(store().Close());
  EXPECT_OK(store().Close());
}

TEST_F(VariantStoreTest, PrefixFindsTheKeyInEveryTarget) {
  for (uint32_t features = 0; features < 40; ++features) {
    PutSample(features);
  }
  Artifact wanted = SampleArtifact(7);
  for (const char* target : {"a", "b", "c"}) {
    wanted.target = DigestOf(target);
    EXPECT_OK(store().PutArtifact(wanted, {}));
  }
  const std::string hex = KeyId(wanted.key).Hex();
  for (size_t digits : {7u, 12u, 63u, 64u}) {
    ASSERT_OK_AND_ASSIGN(auto found,
                         store().FindArtifacts(hex.substr(0, digits), 10));
    ASSERT_EQ(found.size(), 4u) << digits << " digits";
    EXPECT_TRUE(std::ranges::all_of(found, [&](const Artifact& artifact) {
      return artifact.key == wanted.key;
    }));
  }
  EXPECT_EQ(store().FindArtifacts(hex, 2)->size(), 2u);
  EXPECT_EQ(store().FindArtifacts(hex, 0)->size(), 0u);
}

TEST_F(VariantStoreTest, OddPrefixFindsExactlyTheKeysThatStartWithIt) {
  std::multiset<char> first_digits;
  for (uint32_t features = 0; features < 60; ++features) {
    first_digits.insert(KeyId(PutSample(features).key).Hex().front());
  }
  for (const char digit : std::string_view("0123456789abcdef")) {
    EXPECT_EQ(store().FindArtifacts(std::string(1, digit), 100)->size(),
              first_digits.count(digit))
        << digit;
  }
}

TEST_F(VariantStoreTest, PrefixThatIsNotHexadecimalIsRefused) {
  for (const std::string& prefix : {std::string(), std::string("0x12"),
                                    std::string("12 "), std::string(65, 'a')}) {
    EXPECT_THAT(
        store().FindArtifacts(prefix, 2),
        StatusIs(absl::StatusCode::kInvalidArgument, "hexadecimal digits"));
  }
}

TEST_F(VariantStoreTest, PagesShowEachArtifactOnceWithoutItsBlob) {
  for (uint32_t features = 0; features < 25; ++features) {
    PutSample(features);
  }
  std::set<VariantKey> seen;
  std::vector<size_t> sizes;
  std::string row;
  do {
    ASSERT_OK_AND_ASSIGN(ArtifactPage page, store().ListArtifacts(row, 10));
    sizes.push_back(page.artifacts.size());
    for (const ListedArtifact& entry : page.artifacts) {
      EXPECT_TRUE(seen.insert(entry.artifact.key).second);
      EXPECT_TRUE(entry.artifact.blob.empty());
      EXPECT_EQ(entry.blob_bytes, 3000u);
    }
    row = page.next_row;
  } while (!row.empty());
  EXPECT_EQ(seen.size(), 25u);
  EXPECT_THAT(sizes, ::testing::ElementsAre(10, 10, 5));
}

TEST_F(VariantStoreTest, LastFullPageSaysThatItIsTheLast) {
  PutSample(1);
  PutSample(2);
  EXPECT_EQ(store().ListArtifacts("", 2)->next_row, "");
  EXPECT_NE(store().ListArtifacts("", 1)->next_row, "");
}

TEST_F(VariantStoreTest, RowThatIsNoneIsRefused) {
  EXPECT_THAT(store().ListArtifacts("short", 10),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(VariantStoreTest, ListOfAnEmptyStoreIsEmpty) {
  ASSERT_OK_AND_ASSIGN(ArtifactPage page, store().ListArtifacts("", 10));
  EXPECT_TRUE(page.artifacts.empty());
  EXPECT_EQ(page.next_row, "");
}

TEST_F(VariantStoreTest, ThreadsThatPutAndGetAtOnceSeeOnlyWholeArtifacts) {
  constexpr uint32_t kKeys = 50;
  auto work = [&] {
    for (uint32_t features = 0; features < kKeys; ++features) {
      const Artifact put = SampleArtifact(features);
      EXPECT_OK(store().PutArtifact(put, modules_));
      auto found = store().GetArtifact(put.target, put.key);
      EXPECT_OK(found);
      EXPECT_TRUE(found.ok() && found->has_value() &&
                  (*found)->blob == put.blob);
      EXPECT_OK(store().Sync());
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back(work);
  }
  threads.clear();
  EXPECT_EQ(store().ListArtifacts("", 500)->artifacts.size(), kKeys);
  ExpectDamaged(0);
}

}  // namespace
}  // namespace kiln::storage
