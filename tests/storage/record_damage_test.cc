// SPDX-License-Identifier: Apache-2.0

// Damage to one row, the same for every family: whatever is wrong with it, the
// row is a miss, deleted, counted and said once, and can be put again. What is
// special to a family is in store_damage_test.cc.

#include <algorithm>
#include <array>
#include <functional>

#include <gmock/gmock.h>

#include "proto/module_interface.h"
#include "proto/status_macros.h"
#include "storage/database.h"
#include "storage/envelope.h"
#include "storage/row_keys.h"
#include "storage/variant_store.h"
#include "tests/storage/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::storage {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// One row of a family, and how the store reaches it.
struct Record {
  Family family = Family::kMeta;
  std::string family_name;
  std::string row;
  std::function<absl::Status(VariantStore&)> put;
  std::function<absl::StatusOr<bool>(VariantStore&)> is_hit;
  bool opaque = false;  // any payload is one
};

template <typename T>
absl::StatusOr<bool> IsHit(const absl::StatusOr<std::optional<T>>& found) {
  KILN_RETURN_IF_ERROR(found.status());
  return found->has_value();
}

std::string RawDigest(std::string_view text) {
  return std::string(DigestOf(text).raw());
}

// One record of every family but `meta` and the indexes.
std::vector<Record> Records() {
  const Artifact artifact = SampleArtifact(5, 4);
  const TargetIdentity target = SampleTarget("device");
  const Digest p = DigestOf("program");
  const StageModule module = {Stage::kVertex, DigestOf("vertex")};
  using Store = VariantStore;
  return {
      {Family::kPrograms, "programs", RawDigest("program"),
       [=](Store& s) { return s.PutProgram(p, AsBytes("program")); },
       [=](Store& s) { return IsHit(s.GetProgram(p)); }},
      {Family::kModules, "modules", RawDigest("fragment"),
       [](Store& s) {
         return s.PutModule(DigestOf("fragment"), AsBytes("fragment"));
       },
       [](Store& s) { return IsHit(s.GetModule(DigestOf("fragment"))); }},
      {Family::kFrontEnds, "frontend", RawDigest("program") + "v",
       [=](Store& s) {
         return s.PutFrontEnd(p, "v", {{module}, {"A"}});
       },
       [=](Store& s) { return IsHit(s.GetFrontEnd(p, "v")); }},
      {Family::kArtifacts, "artifacts",
       ArtifactRow(artifact.target, KeyId(artifact.key)),
       [=](Store& s) { return s.PutArtifact(artifact, {}); },
       [=](Store& s) {
         return IsHit(s.GetArtifact(artifact.target, artifact.key));
       }},
      {Family::kTunings, "tunings", RawDigest("target") + RawDigest("program"),
       [=](Store& s) {
         return s.PutTuning(DigestOf("target"), p, {{{"A", 1}}, 5, 2});
       },
       [=](Store& s) { return IsHit(s.GetTuning(DigestOf("target"), p)); }},
      {Family::kInterfaces, "interfaces", RawDigest("vertex"),
       [=](Store& s) {
         return s.PutInterface(module.module,
                               EncodeInterface(SampleInterface()));
       },
       [=](Store& s) { return IsHit(s.GetInterface(module.module)); }},
      {Family::kShaders, "shaders", RawDigest("set") + "v",
       [=](Store& s) {
         return s.PutShader(DigestOf("set"), "v", {module, "w"});
       },
       [](Store& s) { return IsHit(s.GetShader(DigestOf("set"), "v")); }},
      {Family::kSnapshots, "snapshots", RawDigest("program"),
       [=](Store& s) {
         return s.PutSnapshots(p, {{DigestOf("snapshot"), 7}});
       },
       [=](Store& s) -> absl::StatusOr<bool> {
         KILN_ASSIGN_OR_RETURN(auto found, s.GetSnapshots(p));
         return !found.empty();
       }},
      {Family::kSurfaces, "surfaces", RawDigest("program"),
       [=](Store& s) { return s.PutSurfaces(p, AsBytes("surfaces")); },
       [=](Store& s) { return IsHit(s.GetSurfaces(p)); }, true},
      {Family::kTargets, "targets", std::string(target.Id().raw()),
       [=](Store& s) { return s.PutTarget(target); },
       [=](Store& s) { return IsHit(s.GetTarget(target.Id())); }},
      {Family::kRoots, "roots", "search",
       [](Store& s) { return s.PutRoots(AsBytes("roots")); },
       [](Store& s) { return IsHit(s.GetRoots()); }, true},
      {Family::kFailures, "failures",
       ArtifactRow(artifact.target, KeyId(artifact.key)),
       [=](Store& s) {
         FailureRecord failure;
         failure.target = artifact.target;
         failure.key = artifact.key;
         return s.PutFailure(failure);
       },
       [=](Store& s) {
         return IsHit(s.GetFailure(artifact.target, artifact.key));
       }},
  };
}

class RecordDamageTest : public StoreTest {
 protected:
  using Edit = std::function<void(const Record&, std::string& value)>;

  RecordDamageTest() {
    Reopen();
    EXPECT_OK(store().PutModule(DigestOf("vertex"), AsBytes("vertex")));
  }

  // Puts those records that `damages`, edits their values behind the store's
  // back, and expects of each what the top of this file says.
  void ExpectMisses(
      const Edit& edit, const std::function<bool(const Record&)>& damages =
                            [](const Record&) { return true; }) {
    std::vector<Record> records = Records();
    std::erase_if(records, std::not_fn(damages));
    for (const Record& record : records) {
      EXPECT_OK(record.put(store()));
    }
    Close();
    log_.clear();
    EditValues(records, edit);
    Reopen();
    uint64_t damaged = 0;
    for (const Record& record : records) {
      SCOPED_TRACE(record.family_name);
      EXPECT_FALSE(record.is_hit(store()).value());
      ExpectDamaged(++damaged);
      EXPECT_THAT(log_, Contains(HasSubstr(KindText(KindOf(record.family)))));
      EXPECT_FALSE(record.is_hit(store()).value());
      ExpectDamaged(damaged);  // deleted: the second miss is an ordinary one
      EXPECT_OK(record.put(store()));
      EXPECT_TRUE(record.is_hit(store()).value());
    }
  }

 private:
  void EditValues(const std::vector<Record>& records, const Edit& edit) {
    StoreCounters counters;
    ASSERT_OK_AND_ASSIGN(auto database,
                         Database::Open(folder(), options(), counters));
    for (const Record& record : records) {
      auto value = database->Get(record.family, record.row);
      ASSERT_TRUE(value.ok() && value->has_value()) << record.family_name;
      edit(record, **value);
      const RowWrite row{record.family, record.row, ToBytes(AsBytes(**value))};
      ASSERT_OK(database->Write({&row, 1}));
    }
  }
};

// `payload` in an envelope that is right for the record's row.
std::string Resealed(const Record& record, std::string_view payload) {
  const Bytes value =
      SealEnvelope(KindOf(record.family), record.row, AsBytes(payload));
  return std::string(AsText(value));
}

std::string PayloadOf(std::string_view value) {
  return std::string(value.substr(kEnvelopeHeaderBytes));
}

bool IsStructured(const Record& record) {
  return !record.opaque;
}

// A family that is added and not tested here fails.
TEST(RecordsTest, EveryFamilyWithRecordsIsAmongThem) {
  constexpr std::array kOthers = {Family::kMeta, Family::kArtifactIndex,
                                  Family::kProgramIndex};
  const std::vector<Record> records = Records();
  for (size_t i = 0; i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    EXPECT_NE(
        std::ranges::find(records, family, &Record::family) != records.end(),
        std::ranges::find(kOthers, family) != kOthers.end())
        << KindText(KindOf(family));
  }
}

TEST_F(RecordDamageTest, FlippedBitOfThePayloadIsAMiss) {
  ExpectMisses([](const Record&, std::string& value) { value.back() ^= 0x10; });
}

TEST_F(RecordDamageTest, FlippedBitOfTheEnvelopeIsAMiss) {
  ExpectMisses([](const Record&, std::string& value) { value[20] ^= 0x01; });
}

TEST_F(RecordDamageTest, ValueCutShortIsAMiss) {
  ExpectMisses([](const Record&, std::string& value) { value.pop_back(); });
}

TEST_F(RecordDamageTest, EmptyValueIsAMiss) {
  ExpectMisses([](const Record&, std::string& value) { value.clear(); });
}

TEST_F(RecordDamageTest, ValueSealedForAnotherRowIsAMiss) {
  ExpectMisses([](const Record& record, std::string& value) {
    Record other = record;
    other.row += "x";
    value = Resealed(other, PayloadOf(value));
  });
}

TEST_F(RecordDamageTest, ValueSealedAsAnotherKindIsAMiss) {
  ExpectMisses([](const Record& record, std::string& value) {
    const std::string payload = PayloadOf(value);
    const Bytes other =
        SealEnvelope(ValueKind::kSchema, record.row, AsBytes(payload));
    value = AsText(other);
  });
}

// The envelope is right: only reading the payload to its end can tell.
TEST_F(RecordDamageTest, SealedNonsenseIsAMiss) {
  for (const std::string_view nonsense : {"\xFF\xFF\xFF\xFF", "", "\x01"}) {
    ExpectMisses(
        [&](const Record& record, std::string& value) {
          value = Resealed(record, nonsense);
        },
        IsStructured);
  }
}

TEST_F(RecordDamageTest, SealedPayloadWithOneByteTooManyIsAMiss) {
  ExpectMisses(
      [](const Record& record, std::string& value) {
        value = Resealed(record, PayloadOf(value) + '\0');
      },
      IsStructured);
}

}  // namespace
}  // namespace kiln::storage
