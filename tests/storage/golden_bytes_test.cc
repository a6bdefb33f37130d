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
  program.features_constant_id = 2;
  program.features = {{0, "Detail", FeatureOwner::kMaterial},
                      {9, "Water", FeatureOwner::kFrame}};
  program.kinds = {
      {{"opaque", {{0, 1}}, {{"depth_write", "true"}}}, true, false}};
  program.backdrops = {{"none", {}, {}}};
  program.blends = {{"alpha", {}, {{"blend", "alpha"}}}};
  program.overrides = {{"NUM_LIGHTS", 7, ConstantType::kUint, 1}};
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
            "4b564b011310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024"
            "f548d806000000"
            "6f7061717565040000006e6f6e6505000000616c70686105000000010000000a00"
            "00004e554d5f4c"
            "494748545304000000");
  EXPECT_EQ(KeyId(ExampleKey()).Hex(),
            "851313b7960daf7fef89e5b82d52f8b742ee6e3ea62ed8a9a479f9c1fe010a00");
}

TEST(GoldenBytesTest, Artifact) {
  EXPECT_EQ(Hex(EncodeArtifact(ExampleArtifact())),
            "4b41520134a04005bcaf206eec990bd9637d9fdb6725e0a0c0d4aebf003f17f4c9"
            "56eb5c59000000"
            "4b564b011310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024"
            "f548d806000000"
            "6f7061717565040000006e6f6e6505000000616c70686105000000010000000a00"
            "00004e554d5f4c"
            "4947485453040000000100000001e1b683e26a3aad218df6aa63afe9cf57fdb5df"
            "af5eb20cddac14"
            "305d67f48a02010000000200000005000000040000000524436201c42200000000"
            "00000120000000"
            "0000000000000000000000000000000100100000010000000f000000467261676d"
            "656e7420536861"
            "64657205000000564750527300000000000040401b000000736861646572632032"
            "3032332e323b20"
            "4d6573612032322e332e36");
}

TEST(GoldenBytesTest, Program) {
  const Bytes canonical = EncodeProgram(ExampleProgram());
  EXPECT_EQ(canonical.size(), 475u);
  EXPECT_EQ(Digest::Of(canonical).Hex(),
            "04784d9ae846cd9963889f7fb1ee997dfc214658d51304bf71a206d7aa5c655f");
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
                                artifact.modules));
  Close();

  const std::string program(DigestOf("program").raw());
  const std::string artifact_row =
      std::string(artifact.target.raw()).append(KeyId(artifact.key).raw());
  const std::vector<GoldenRow> golden = {
      {"meta", "schema",
       "8a328305afbab8732e6468ac2fbcab89515cf90f42c9a16cb75db8de50f53792"},
      {"programs", program,
       "b79a3e73a04d66d5aea19725304e10b747ed0e1eec81cc4c13eb1d56c12d419b"},
      {"modules", std::string(DigestOf("vertex").raw()),
       "0ac07541b98e69575724feace00713628c8976dde8461eba07d827286385f48c"},
      {"frontend", program + "shaderc 2023.2",
       "25088118f2e0c6dc5b31cd0201a821ce2b25b057fecafaf69482e23e565a68b2"},
      {"artifacts", artifact_row,
       "13def4773b727f849a22e575fdde042fdfb3c67534eaa265729e888e43bcb2ff"},
      {"artifact_index", artifact_row,
       "69cfe613fc052dc21ee56a025bf5ee69e34f547b213eabfaaf800da0bfd1080b"},
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
