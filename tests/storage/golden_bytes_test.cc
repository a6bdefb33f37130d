// SPDX-License-Identifier: Apache-2.0

// The bytes of every persisted format, pinned. A test that fails here means
// that stores, packs and keys of other machines are no longer understood: take
// a new format version and a new golden, and leave the old ones (storage/
// FORMAT.md, "Evolution"). The examples in FORMAT.md are these.

#include <rocksdb/db.h>

#include "absl/strings/escaping.h"
#include "proto/program.h"
#include "storage/database.h"
#include "storage/envelope.h"
#include "storage/variant_store.h"
#include "tests/storage/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::storage {
namespace {

std::string Hex(ByteView bytes) {
  const std::string_view text = AsText(bytes);
  return absl::BytesToHexString({text.data(), text.size()});
}

VariantKey ExampleKey() {
  VariantKey key = SampleKey(5);
  key.overrides = {{"NUM_LIGHTS", 4}};
  return key;
}

Artifact ExampleArtifact() {
  Artifact artifact = SampleArtifact(5, 4);
  artifact.key = ExampleKey();
  return artifact;
}

Program ExampleProgram() {
  Program program;
  program.name = "scene";
  program.stages = {{Stage::kVertex, "scene.vert"},
                    {Stage::kFragment, "scene.frag"}};
  program.defines = {{"HALF", "1"}};
  program.features_constant_ids = {2};
  program.features = {{0, "Detail", FeatureOwner::kMaterial},
                      {9, "Water", FeatureOwner::kFrame}};
  program.kinds = {
      {{"opaque", {{0, 1}}, {{"depth_write", "true"}}}, true, false, 0x200}};
  program.backdrops = {{"none", {}, {}}};
  program.blends = {{"alpha", {}, {{"blend", "alpha"}}}};
  program.merged = {0x201};
  program.overrides = {
      {"NUM_LIGHTS", 7, ConstantType::kUint32, 1, 1, 16, {1, 4, 8, 16}},
      {"GAIN", std::nullopt, ConstantType::kFloat32, 0}};
  program.derivation = "scene.frag";
  program.pipeline.color_formats = {"r8g8b8a8_unorm"};
  program.pipeline.depth_format = "d32_sfloat";
  program.pipeline.vertex_bindings = {{0, 12, false}};
  program.pipeline.vertex_attributes = {{0, 0, "r32g32b32_sfloat", 0}};
  program.pipeline.descriptors = {
      {0, 1, "combined_image_sampler", 8, {Stage::kFragment}}};
  program.pipeline.push_constant_bytes = 16;
  program.pipeline.push_constant_stages = {Stage::kVertex, Stage::kFragment};
  program.files = {{"scene.frag", "void main() {}\n"},
                   {"scene.vert", "void main() {}\n"}};
  return program;
}

TEST(GoldenBytesTest, VariantKey) {
  EXPECT_EQ(Hex(EncodeKey(ExampleKey())),
            "4b564b021310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024"
            "f548d8060000006f7061717565040000006e6f6e6505000000616c706861050000"
            "0000000000010000000a0000004e554d5f4c49474854530400000000000000");
  EXPECT_EQ(KeyId(ExampleKey()).Hex(),
            "c95d644647c80aeb77551d7f8e19c03dce1918c6a4e7683534b87fd929ad96f4");
}

TEST(GoldenBytesTest, Artifact) {
  EXPECT_EQ(Hex(EncodeArtifact(ExampleArtifact())),
            "4b41520234a04005bcaf206eec990bd9637d9fdb6725e0a0c0d4aebf003f17f4c9"
            "56eb5c610000004b564b021310ca2c8932dbd118668bd97442558a3e1f546b5e15"
            "c69699dfbd6024f548d8060000006f7061717565040000006e6f6e650500000061"
            "6c7068610500000000000000010000000a0000004e554d5f4c4947485453040000"
            "00000000000100000001e1b683e26a3aad218df6aa63afe9cf57fdb5dfaf5eb20c"
            "ddac14305d67f48a02010000000200000005000000000000000300000000040000"
            "000524436201c42200000000000001200000000000000000000000000000000000"
            "000100100000010000000f000000467261676d656e742053686164657205000000"
            "564750527300000000000040401b0000007368616465726320323032332e323b20"
            "4d6573612032322e332e36");
}

TEST(GoldenBytesTest, Program) {
  const Bytes canonical = EncodeProgram(ExampleProgram());
  EXPECT_EQ(canonical.size(), 638u);
  EXPECT_EQ(Digest::Of(canonical).Hex(),
            "84fc2e9346cc1bdb2ee57a9e9016b6b072d126cb7c133be40292a8abfb973878");
  ASSERT_OK(DecodeProgram(canonical));
  EXPECT_EQ(EncodeProgram(*DecodeProgram(canonical)), canonical);
}

TEST(GoldenBytesTest, Envelope) {
  const std::string version("\1\0\0\0", 4);
  EXPECT_EQ(Hex(SealEnvelope(ValueKind::kSchema, "schema", AsBytes(version))),
            "4b4556010100000004000000000000003686ca320f47e4b04d78390b5d4f275a01"
            "000000");
}

// Also the names of the column families and the shape of every row key.
class GoldenRowsTest : public StoreTest {};

struct GoldenRow {
  std::string family;
  std::string row;
  std::string digest;  // of the whole value
};

TEST_F(GoldenRowsTest, EveryRowLiesInItsFamilyUnderItsKey) {
  const Artifact artifact = ExampleArtifact();
  Reopen();
  EXPECT_OK(store().PutArtifact(artifact, std::vector{SampleModule("vertex")}));
  EXPECT_OK(store().PutProgram(DigestOf("program"), AsBytes("program")));
  EXPECT_OK(store().PutFrontEnd(DigestOf("program"), "shaderc 2023.2",
                                {artifact.modules, {"NEVER_READ"}}));
  EXPECT_OK(store().PutTuning(artifact.target, DigestOf("program"),
                              {{{"WIDTH", 64}}, 1500, 12}));
  Close();

  const std::string program(DigestOf("program").raw());
  const std::string artifact_row =
      std::string(artifact.target.raw()).append(KeyId(artifact.key).raw());
  const std::vector<GoldenRow> golden = {
      {"meta", "schema",
       "717bd98e9c8a48a09d9f5a2d2f4d77875bacf9b47130879ef8bfab1747737bb7"},
      {"programs", program,
       "b79a3e73a04d66d5aea19725304e10b747ed0e1eec81cc4c13eb1d56c12d419b"},
      {"modules", std::string(DigestOf("vertex").raw()),
       "0ac07541b98e69575724feace00713628c8976dde8461eba07d827286385f48c"},
      {"frontend", program + "shaderc 2023.2",
       "1bc9cb876a24cd1f005da1574ce9f3905e195e02792edad5c274420503642f81"},
      {"artifacts", artifact_row,
       "438db9c9fb54674864cbeb5bd8f6f770ddbb5e6f2ba1e4ca72c001e2d23a5641"},
      {"artifact_index", artifact_row,
       "b43cbbd7222fa7c4dd167ac44f5af1c34a24f063b3c0cfe3415fa6899ee440bb"},
      {"tunings", std::string(artifact.target.raw()) + program,
       "04c6031fd3397d1be5ce4fe86eb689115862e2b2607db3a2a4a3fc7947458358"},
  };
  for (const GoldenRow& want : golden) {
    EditRaw(folder(), want.family,
            [&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* column) {
              std::string value;
              ASSERT_TRUE(db.Get({}, column, want.row, &value).ok())
                  << want.family;
              EXPECT_EQ(DigestOf(value).Hex(), want.digest) << want.family;
            });
  }
}

}  // namespace
}  // namespace kiln::storage
