// SPDX-License-Identifier: Apache-2.0

// The bytes of every persisted format, pinned. A test that fails here means
// that stores, packs and keys of other machines are no longer understood: take
// a new format version and a new golden, and leave the old ones (storage/
// FORMAT.md, "Evolution"). The examples in FORMAT.md are these.

#include <rocksdb/db.h>

#include "absl/strings/escaping.h"
#include "proto/module_interface.h"
#include "proto/program.h"
#include "proto/target.h"
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
                    {Stage::kFragment, "scene.hlsl", Language::kHlsl, "shade"}};
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
  program.derivation = "scene.hlsl";
  program.surface = {"surfaces.glsl", "surface", "inout SurfaceData s"};
  program.pipeline.color_formats = {"r8g8b8a8_unorm"};
  program.pipeline.depth_format = "d32_sfloat";
  program.pipeline.vertex_bindings = {{0, 12, false}};
  program.pipeline.vertex_attributes = {{0, 0, "r32g32b32_sfloat", 0}};
  program.pipeline.descriptors = {
      {0, 1, "combined_image_sampler", 8, {Stage::kFragment}}};
  program.pipeline.push_constant_bytes = 16;
  program.pipeline.push_constant_stages = {Stage::kVertex, Stage::kFragment};
  program.files = {{"scene.hlsl", "void shade() {}\n"},
                   {"scene.vert", "#include \"a\"\nvoid main() {}\n"}};
  program.includes = {{"scene.vert", "a", false, "", "no such file"},
                      {"scene.vert", "b", true, "scene.hlsl", ""}};
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
            "4b41520334a04005bcaf206eec990bd9637d9fdb6725e0a0c0d4aebf003f17f4c9"
            "56eb5c610000004b564b021310ca2c8932dbd118668bd97442558a3e1f546b5e15"
            "c69699dfbd6024f548d8060000006f7061717565040000006e6f6e650500000061"
            "6c7068610500000000000000010000000a0000004e554d5f4c4947485453040000"
            "00000000000100000001e1b683e26a3aad218df6aa63afe9cf57fdb5dfaf5eb20c"
            "ddac14305d67f48a02010000000200000005000000000000000300000000000400"
            "00000524436201c422000000000000012000000000000000000000000000000000"
            "00000100100000010000000f000000467261676d656e7420536861646572050000"
            "00564750527300000000000040401b0000007368616465726320323032332e323b"
            "204d6573612032322e332e36");
}

TEST(GoldenBytesTest, Program) {
  const Bytes canonical = EncodeProgram(ExampleProgram());
  EXPECT_EQ(canonical.size(), 806u);
  EXPECT_EQ(Digest::Of(canonical).Hex(),
            "6b8b43bbfd587b42832f7f964f6b0da2540be004ecc16653543b461624f189ca");
  ASSERT_OK(DecodeProgram(canonical));
  EXPECT_EQ(EncodeProgram(*DecodeProgram(canonical)), canonical);
}

TEST(GoldenBytesTest, Recipe) {
  Program recipe = ExampleProgram();
  recipe.rooted = true;
  recipe.files.clear();
  recipe.includes.clear();
  const Bytes canonical = EncodeProgram(recipe);
  EXPECT_EQ(canonical.size(), 648u);
  EXPECT_EQ(Digest::Of(canonical).Hex(),
            "2a2f6d8baac3abf562b2eac22515e28e978fe4f155c6abb3da83d3b249232dbd");
  ASSERT_OK(DecodeProgram(canonical));
  EXPECT_EQ(EncodeProgram(*DecodeProgram(canonical)), canonical);
}

TEST(GoldenBytesTest, ModuleInterface) {
  const Bytes canonical = EncodeInterface(SampleInterface());
  EXPECT_EQ(Hex(canonical),
            "4b4d4901040000006d61696e0100000006000000616c6265646f00000000010000"
            "0016000000636f6d62696e65645f696d6167655f73616d706c6572080000000100"
            "00000400000074696e740000000010000000010000000700000005000000574944"
            "544803400000000000000001010000000200000075760000000002000000040000"
            "0076656332010000000100000005000000636f6c6f720100000000000000040000"
            "007665633403000000400000000107000000020000000000000000010000000000"
            "000000");
  ASSERT_OK(DecodeInterface(canonical));
  EXPECT_EQ(*DecodeInterface(canonical), SampleInterface());
}

TEST(GoldenBytesTest, Target) {
  EXPECT_EQ(SampleTarget("device").Id().Hex(),
            "697663fe2426d841959d5ebc8c625ddd12e781437beed8540dfc9f15932d65d1");
}

TEST(GoldenBytesTest, Envelope) {
  const std::string version("\1\0\0\0", 4);
  EXPECT_EQ(Hex(SealEnvelope(ValueKind::kSchema, "schema", AsBytes(version))),
            "4b4556010100000004000000000000003686ca320f47e4b04d78390b5d4f275a01"
            "000000");
}

// Also the names of the column families and the shape of every row key.
class GoldenRowsTest : public StoreTest {
 protected:
  void PutRecords() {
    const Digest program = DigestOf("program");
    EXPECT_OK(store().PutInterface(DigestOf("vertex"),
                                   EncodeInterface(SampleInterface())));
    EXPECT_OK(store().PutShader(
        DigestOf("set"), "shaderc 2023.2",
        {{Stage::kVertex, DigestOf("vertex")}, "a.vert:1: warning: w\n"}));
    EXPECT_OK(
        store().PutSnapshots(program, {{DigestOf("second"), 1700000001000},
                                       {DigestOf("first"), 1700000000000}}));
    EXPECT_OK(store().PutSurfaces(program, AsBytes("surfaces")));
    EXPECT_OK(store().PutTarget(SampleTarget("device")));
    EXPECT_OK(store().PutRoots(AsBytes("roots")));
    EXPECT_OK(store().PutFailure(
        {ExampleArtifact().target, ExampleKey(), FailureCause::kCrashed,
         "shaderc 2023.2", absl::StatusCode::kInternal, "compiler crashed",
         "lit.frag:1: warning: w\n", 1700000000000}));
  }
};

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
  PutRecords();
  Close();

  const std::string program(DigestOf("program").raw());
  const std::string artifact_row =
      std::string(artifact.target.raw()).append(KeyId(artifact.key).raw());
  const std::vector<GoldenRow> golden = {
      {"meta", "schema",
       "d49522bab9a6241fe7ee1a004b2a11e28e5294491e7047c067c30c71afba45d1"},
      {"programs", program,
       "b79a3e73a04d66d5aea19725304e10b747ed0e1eec81cc4c13eb1d56c12d419b"},
      {"modules", std::string(DigestOf("vertex").raw()),
       "0ac07541b98e69575724feace00713628c8976dde8461eba07d827286385f48c"},
      {"frontend", program + "shaderc 2023.2",
       "1bc9cb876a24cd1f005da1574ce9f3905e195e02792edad5c274420503642f81"},
      {"artifacts", artifact_row,
       "3a956f6f4e99f2ad99173baf60d0d91e832d1bdf6cec02f3b67590fa65fc4add"},
      {"artifact_index", artifact_row,
       "b43cbbd7222fa7c4dd167ac44f5af1c34a24f063b3c0cfe3415fa6899ee440bb"},
      {"tunings", std::string(artifact.target.raw()) + program,
       "04c6031fd3397d1be5ce4fe86eb689115862e2b2607db3a2a4a3fc7947458358"},
      {"program_index", program,
       "f30878b6addbd024a8c9dd96658162feee167cea5739cdbc76a6ba52e87e1ecd"},
      {"interfaces", std::string(DigestOf("vertex").raw()),
       "a636b8248fe8ecb9dee952af7589c0665538558ce1449b02827ad72c6170263e"},
      {"shaders", std::string(DigestOf("set").raw()) + "shaderc 2023.2",
       "e25840dcdf311a5db099161ba3bd374f85713fa146433fc8d53cc5ff62bfba9c"},
      {"snapshots", program,
       "91b9b3d87fc8f2818fb7fa10aba0aa4cb6ea2738058fe976e51ac0c014ec7597"},
      {"surfaces", program,
       "db655edb3f0f7a46d5ee11c3e50d04a6890ee3270926be9778f52849f5c15d4e"},
      {"targets", std::string(SampleTarget("device").Id().raw()),
       "3e2a04bf4535b7f3cc26371bfd086bb2a220e28968d4bc1a9b700eaf2052d398"},
      {"roots", "search",
       "0025c8077218208e3be57337501f488a5f7e947f5c1221ee4835a570dfa395ae"},
      {"failures", artifact_row,
       "289087d300f39251278b644084579bbae2849cdfc0cafc9a125fce6a0baaa440"},
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
