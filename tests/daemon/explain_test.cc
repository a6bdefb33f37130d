// SPDX-License-Identifier: Apache-2.0
#include "daemon/explain.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/asked_keys.h"
#include "tests/daemon/explain_programs.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"

namespace kiln::daemon {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::SmallProgram;
using testing::StatusIs;

Digest IdOf(const Program& program) {
  return Digest::Of(EncodeProgram(program));
}

VariantKey KeyOf(const Program& program, FeatureMask features = 1) {
  return {IdOf(program), "opaque", "none", "alpha", features, {}};
}

// Everything that a store would have, in memory.
class MemorySource final : public ExplainSource {
 public:
  Digest AddTarget(const TargetIdentity& identity) {
    targets_[identity.Id()] = identity;
    return identity.Id();
  }

  void Add(const Digest& target, const Program& program,
           const VariantKey& key) {
    programs_[key.program] = program;
    rows_.push_back({target, key});
  }

  // The newest first.
  void set_snapshots(std::vector<Digest> snapshots) {
    snapshots_ = std::move(snapshots);
  }

  void FailLists() { lists_fail_ = true; }

  void ForgetTarget(const Digest& target) { targets_.erase(target); }

  size_t programs_read() const { return programs_read_; }

  size_t pages_read() const { return pages_read_; }

  absl::StatusOr<std::vector<StoredVariant>> WithKey(
      const Digest& key_id) override {
    std::vector<StoredVariant> found;
    for (const StoredVariant& row : rows_) {
      if (KeyId(row.key) == key_id) {
        found.push_back(row);
      }
    }
    return found;
  }

  absl::StatusOr<StoredPage> List(std::string_view after_row) override {
    if (lists_fail_) {
      return absl::DataLossError("index is damaged");
    }
    ++pages_read_;
    constexpr size_t kPage = 3;
    const size_t start =
        after_row.empty() ? 0 : std::stoul(std::string(after_row));
    StoredPage page;
    for (size_t i = start; i < rows_.size() && i < start + kPage; ++i) {
      page.variants.push_back(rows_[i]);
    }
    if (start + kPage < rows_.size()) {
      page.next_row = std::to_string(start + kPage);
    }
    return page;
  }

  absl::StatusOr<std::optional<Program>> FindProgram(
      const Digest& id) override {
    ++programs_read_;
    const auto found = programs_.find(id);
    return found == programs_.end() ? std::nullopt
                                    : std::optional(found->second);
  }

  absl::StatusOr<std::optional<TargetIdentity>> FindTarget(
      const Digest& id) override {
    const auto found = targets_.find(id);
    return found == targets_.end() ? std::nullopt
                                   : std::optional(found->second);
  }

  absl::StatusOr<std::vector<Digest>> Snapshots(const Digest&) override {
    return snapshots_;
  }

 private:
  std::vector<StoredVariant> rows_;
  std::map<Digest, Program> programs_;
  std::map<Digest, TargetIdentity> targets_;
  std::vector<Digest> snapshots_;
  bool lists_fail_ = false;
  size_t programs_read_ = 0;
  size_t pages_read_ = 0;
};

class ExplainTest : public ::testing::Test {
 protected:
  // What is nearest to this key on `target_`, which must be found.
  NearestVariant Nearest(const Program& program, const VariantKey& key,
                         const SearchLimits& limits = {}) {
    auto found = FindNearest(source_, program, {target_, key}, limits);
    EXPECT_OK(found);
    return found.ok() ? *std::move(found) : NearestVariant();
  }

  MemorySource source_;
  const Digest target_ = source_.AddTarget(Device("b1"));
  const Program program_ = SmallProgram();
};

TEST_F(ExplainTest, NothingIsNearestInAnEmptyStore) {
  const NearestVariant nearest = Nearest(program_, KeyOf(program_));
  EXPECT_FALSE(nearest.variant.has_value());
  EXPECT_THAT(nearest.differences, IsEmpty());
  EXPECT_EQ(nearest.entries_searched, 0u);
  EXPECT_TRUE(nearest.searched_all);
}

TEST_F(ExplainTest, EditedFileIsNamedWithItsLine) {
  const Program old = Edited("one");
  const Program now = Edited("two");
  source_.Add(target_, old, KeyOf(old));
  const NearestVariant nearest = Nearest(now, KeyOf(now));
  ASSERT_TRUE(nearest.variant.has_value());
  EXPECT_EQ(nearest.variant->key, KeyOf(old));
  EXPECT_EQ(nearest.label, "small opaque/none/alpha Warm");
  EXPECT_THAT(
      nearest.differences,
      ElementsAre(Difference{"file", "small.frag", "line 12: \"// one\"",
                             "line 12: \"// two\""}));
}

TEST_F(ExplainTest, UpdatedDriverIsNamedByItsFields) {
  const Digest updated = source_.AddTarget(Device("b2", "int64,int16"));
  source_.Add(target_, program_, KeyOf(program_));
  ASSERT_OK_AND_ASSIGN(
      const NearestVariant nearest,
      FindNearest(source_, program_, {updated, KeyOf(program_)}));
  EXPECT_THAT(
      nearest.differences,
      ElementsAre(Difference{"driver", "driver_build", "b1", "b2"},
                  Difference{"device feature", "int16", "", "enabled"}));
}

TEST_F(ExplainTest, OtherChoicesOfTheSameProgramAreNamed) {
  source_.Add(target_, program_, KeyOf(program_, 0));
  source_.Add(target_, program_, KeyOf(program_, 3));
  const NearestVariant nearest = Nearest(program_, KeyOf(program_, 2));
  EXPECT_THAT(nearest.differences, SizeIs(1));
  EXPECT_EQ(nearest.differences[0].kind, "key");
}

// Both are one difference away; but that Noisy was compiled too does not tell
// an author why Warm was compiled again.
TEST_F(ExplainTest, SameChoicesBeforeAnEditWinOverOtherChoicesAfterIt) {
  const Program old = Edited("one");
  Program now = Edited("two");
  now.defines = {{"QUALITY", "2"}};
  source_.Add(target_, now, KeyOf(now, 2));
  source_.Add(target_, now, KeyOf(now, 3));
  source_.Add(target_, old, KeyOf(old));
  const NearestVariant nearest = Nearest(now, KeyOf(now));
  EXPECT_THAT(nearest.differences,
              ElementsAre(Field(&Difference::kind, "file"),
                          Field(&Difference::kind, "define")));
}

TEST_F(ExplainTest, StoredKeyIsComparedWithAnotherAndNotWithItself) {
  const Program old = Edited("one");
  const Program now = Edited("two");
  source_.Add(target_, now, KeyOf(now));
  source_.Add(target_, old, KeyOf(old));
  const NearestVariant nearest = Nearest(now, KeyOf(now));
  EXPECT_EQ(nearest.variant->key, KeyOf(old));
}

TEST_F(ExplainTest, NewestOfEquallyNearSnapshotsIsChosenWithoutAScan) {
  const std::vector<Program> saves = {Edited("one"), Edited("two"),
                                      Edited("three"), Edited("four")};
  std::vector<Digest> newest_first;
  for (const Program& save : saves) {
    newest_first.insert(newest_first.begin(), IdOf(save));
    source_.Add(target_, save, KeyOf(save));
  }
  source_.set_snapshots(newest_first);
  const NearestVariant nearest = Nearest(saves[3], KeyOf(saves[3]));
  EXPECT_EQ(nearest.variant->key, KeyOf(saves[2]));
  EXPECT_EQ(source_.pages_read(), 0u);
}

TEST_F(ExplainTest, SnapshotWhoseKeyIsNotStoredIsPassedOver) {
  const Program first = Edited("one");
  const Program second = Edited("two");
  const Program third = Edited("three");
  source_.Add(target_, first, KeyOf(first));
  source_.Add(target_, second, KeyOf(second, 2));
  source_.set_snapshots({IdOf(third), IdOf(second), IdOf(first)});
  const NearestVariant nearest = Nearest(third, KeyOf(third));
  EXPECT_EQ(nearest.variant->key, KeyOf(first));
}

TEST_F(ExplainTest, ProgramOfAnotherNameIsNeverNearest) {
  Program other = SmallProgram();
  other.name = "other";
  source_.Add(target_, other, KeyOf(other));
  EXPECT_FALSE(Nearest(program_, KeyOf(program_)).variant.has_value());
}

TEST_F(ExplainTest, ProgramThatIsGoneIsPassedOver) {
  const Program old = Edited("one");
  VariantKey lost = KeyOf(program_);
  lost.program = Digest::Of(AsBytes("lost"));
  source_.Add(target_, old, KeyOf(old));
  source_.Add(target_, old, lost);
  const NearestVariant nearest = Nearest(program_, KeyOf(program_));
  EXPECT_EQ(nearest.entries_searched, 2u);
  EXPECT_TRUE(nearest.variant.has_value());
}

TEST_F(ExplainTest, UnknownTargetIsFartherThanOneThatIsKnown) {
  const Digest near = source_.AddTarget(Device("b2"));
  const Digest unknown = source_.AddTarget(Device("b3"));
  source_.ForgetTarget(unknown);
  source_.Add(unknown, program_, KeyOf(program_));
  const auto only = Nearest(program_, KeyOf(program_));
  EXPECT_THAT(only.differences,
              ElementsAre(Difference{"driver", "target", unknown.ShortHex(),
                                     target_.ShortHex()}));
  source_.Add(near, program_, KeyOf(program_));
  EXPECT_EQ(Nearest(program_, KeyOf(program_)).variant->target, near);
}

TEST_F(ExplainTest, AnswerDoesNotDependOnTheOrderOfTheIndex) {
  const std::vector<Program> programs = {Edited("one"), Edited("two"),
                                         Edited("three"), Edited("four")};
  MemorySource backwards;
  backwards.AddTarget(Device("b1"));
  for (size_t i = 0; i < programs.size(); ++i) {
    source_.Add(target_, programs[i], KeyOf(programs[i]));
    const Program& other = programs[programs.size() - 1 - i];
    backwards.Add(target_, other, KeyOf(other));
  }
  ASSERT_OK_AND_ASSIGN(
      const NearestVariant nearest,
      FindNearest(backwards, program_, {target_, KeyOf(program_)}));
  EXPECT_EQ(Nearest(program_, KeyOf(program_)).variant->key,
            nearest.variant->key);
}

TEST_F(ExplainTest, SearchEndsAtItsBoundsAndSaysSo) {
  for (int i = 0; i < 20; ++i) {
    const Program save = Edited(std::to_string(i));
    source_.Add(target_, save, KeyOf(save, 2));
  }
  const NearestVariant rows =
      Nearest(program_, KeyOf(program_), {.rows = 6, .programs = 100});
  EXPECT_FALSE(rows.searched_all);
  EXPECT_EQ(rows.entries_searched, 6u);
  EXPECT_TRUE(rows.variant.has_value());
  const size_t before = source_.programs_read();
  const NearestVariant programs =
      Nearest(program_, KeyOf(program_), {.rows = 1000, .programs = 5});
  EXPECT_FALSE(programs.searched_all);
  EXPECT_EQ(programs.entries_searched, 20u);
  EXPECT_LE(source_.programs_read() - before, 5u);
  EXPECT_TRUE(Nearest(program_, KeyOf(program_)).searched_all);
}

TEST_F(ExplainTest, MoreDifferencesThanAnyoneReadsAreCounted) {
  Program far = SmallProgram();
  for (int i = 0; i < 150; ++i) {
    far.defines.push_back({"D" + std::to_string(i), ""});
  }
  source_.Add(target_, far, KeyOf(far));
  const NearestVariant nearest = Nearest(program_, KeyOf(program_));
  ASSERT_THAT(nearest.differences, SizeIs(kMaxDifferences + 1));
  EXPECT_EQ(nearest.differences.back().name, "and 50 more");
}

TEST_F(ExplainTest, FaultOfTheStoreIsTheAnswer) {
  source_.FailLists();
  EXPECT_THAT(FindNearest(source_, program_, {target_, KeyOf(program_)}),
              StatusIs(absl::StatusCode::kDataLoss, "index is damaged"));
}

TEST(AskedKeysTest, StateFollowsTheRequest) {
  const Digest target = Device("b1").Id();
  const VariantKey key = KeyOf(SmallProgram());
  const Digest id = KeyId(key);
  AskedKeys asked;
  EXPECT_FALSE(asked.Find(target, id).has_value());
  asked.Ask(target, id, key, "label");
  EXPECT_EQ(asked.Find(target, id)->state, AskedKey::State::kInFlight);
  EXPECT_EQ(asked.Find(target, id)->key, key);
  asked.Settle(target, id, absl::InternalError("bad \xff byte"));
  EXPECT_EQ(asked.Find(target, id)->state, AskedKey::State::kFailed);
  EXPECT_EQ(asked.Find(target, id)->message, "bad \xEF\xBF\xBD byte");
  asked.Ask(target, id, key, "label");
  EXPECT_EQ(asked.Find(target, id)->state, AskedKey::State::kInFlight);
  asked.Settle(target, id, absl::OkStatus());
  EXPECT_EQ(asked.Find(target, id)->state, AskedKey::State::kServed);
  EXPECT_EQ(asked.Find(target, id)->message, "");
  EXPECT_FALSE(asked.Find(Digest(), id).has_value());
}

TEST(AskedKeysTest, OldestIsForgottenFirstAndAskingAgainRenews) {
  const Digest target = Device("b1").Id();
  AskedKeys asked(3);
  std::vector<VariantKey> keys;
  for (FeatureMask features = 0; features < 4; ++features) {
    keys.push_back(KeyOf(SmallProgram(), features));
  }
  for (const size_t i : {0, 1, 2, 0, 3}) {
    asked.Ask(target, KeyId(keys[i]), keys[i], "");
  }
  EXPECT_TRUE(asked.Find(target, KeyId(keys[0])).has_value());
  EXPECT_FALSE(asked.Find(target, KeyId(keys[1])).has_value());
  asked.Settle(target, KeyId(keys[1]), absl::OkStatus());
  EXPECT_FALSE(asked.Find(target, KeyId(keys[1])).has_value());
  EXPECT_THAT(asked.FindPrefix("", 10),
              ElementsAre(Field(&AskedKey::key, keys[3]),
                          Field(&AskedKey::key, keys[0]),
                          Field(&AskedKey::key, keys[2])));
}

TEST(AskedKeysTest, PrefixFindsTheSameKeyOnEveryTarget) {
  const VariantKey key = KeyOf(SmallProgram());
  const VariantKey other = KeyOf(SmallProgram(), 2);
  AskedKeys asked;
  for (const char* driver : {"b1", "b2"}) {
    asked.Ask(Device(driver).Id(), KeyId(key), key, "");
    asked.Ask(Device(driver).Id(), KeyId(other), other, "");
  }
  const auto found = asked.FindPrefix(KeyId(key).ShortHex(), 10);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found, Each(Field(&AskedKey::key, key)));
  EXPECT_EQ(found[0].target, Device("b2").Id());
  EXPECT_THAT(asked.FindPrefix(KeyId(key).ShortHex(), 1), SizeIs(1));
}

}  // namespace
}  // namespace kiln::daemon
