// SPDX-License-Identifier: Apache-2.0

// Surface shaders by way of the whole daemon: what is accepted, what is told to
// clients then, and what is remembered. The text rules are in
// tests/shaders/surface.

#include "tests/daemon/live_fixture.h"

namespace kiln::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MakeRequest;
using testing::StatusIs;
using testing::StreamClient;

constexpr char kSurfaceFragment[] = R"(#version 460
#extension GL_GOOGLE_include_directive : require
layout(constant_id = 2) const uint Features = 0x3u;
layout(push_constant) uniform Push { vec4 tint; } push;
layout(location = 0) out vec4 color;
struct Material { vec4 albedo; };
#include "surfaces.glsl"
void main() {
  Material material = Material(push.tint);
  kiln_surface(uint(push.tint.w), material);
  color = material.albedo;
}
)";

constexpr char kRust[] =
    "float mask(float x) { return fract(x); }\n"
    "void surface(inout Material m) { m.albedo.r += mask(m.albedo.g); }\n";
constexpr char kMoss[] =
    "float mask(float x) { return floor(x); }\n"
    "void surface(inout Material m) { m.albedo.g += mask(m.albedo.r); }\n";

class SurfaceCallTest : public LiveFixture {
 protected:
  void SetUp() override {
    LiveFixture::SetUp();
    root_.Write("surface.frag", kSurfaceFragment);
    program_ = Register(SurfaceProgram());
  }

  static Program SurfaceProgram() {
    Program program = Recipe();
    program.stages[1].path = "surface.frag";
    program.surface = {"surfaces.glsl", "surface", "inout Material m"};
    return program;
  }

  v1::RegisterSurfaceResponse Add(const std::string& name,
                                  const std::string& text) {
    auto response =
        daemon_.Connect()->RegisterSurface(program_, name, text, kLiveTarget);
    EXPECT_OK(response);
    return response.value_or(v1::RegisterSurfaceResponse());
  }

  void ExpectRejected(const v1::RegisterSurfaceResponse& response,
                      const std::string& says) {
    EXPECT_FALSE(response.accepted());
    EXPECT_THAT(response.message() + "\n" + response.diagnostics(),
                HasSubstr(says));
  }

  Digest program_;
};

TEST_F(SurfaceCallTest, EqualTextHasOneIndexAndOthersTheirOwn) {
  const auto rust = Add("rust", kRust);
  EXPECT_TRUE(rust.accepted()) << rust.ShortDebugString();
  EXPECT_EQ(rust.index(), 1u);
  const auto moss = Add("moss", kMoss);
  EXPECT_TRUE(moss.accepted()) << moss.ShortDebugString();
  EXPECT_EQ(moss.index(), 2u);
  EXPECT_NE(moss.set_hash(), rust.set_hash());
  const auto again = Add("rust once more", kRust);
  EXPECT_TRUE(again.accepted());
  EXPECT_TRUE(again.already_known());
  EXPECT_EQ(again.index(), 1u);
  EXPECT_EQ(again.set_hash(), moss.set_hash());
}

TEST_F(SurfaceCallTest, SetIsPartOfTheKeyAndClientsGetTheNewShader) {
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kLiveTarget));
  ASSERT_TRUE(client.Ask({MakeRequest(program_, "opaque", 1)}));
  const v1::Completion base = Next(client);
  ASSERT_EQ(base.state(), v1::STATE_READY) << TextOf(base);
  ASSERT_TRUE(Add("rust", kRust).accepted());
  const v1::Completion with = Next(client);
  ASSERT_EQ(with.state(), v1::STATE_READY) << TextOf(with);
  EXPECT_EQ(with.generation(), 2u);
  EXPECT_NE(with.variant().key_id(), base.variant().key_id());
  ASSERT_OK(daemon_.Connect()->RemoveSurface(program_, 1));
  const v1::Completion without = Next(client);
  EXPECT_EQ(without.variant().key_id(), base.variant().key_id());
  EXPECT_EQ(without.origin(), v1::ORIGIN_STORE);
}

TEST_F(SurfaceCallTest, ErrorsNameTheAuthorsLineAndAreRemembered) {
  const std::string bad =
      "// first\nfloat helper() { return vec3(1.0); }\n" + std::string(kRust);
  const auto first = Add("rusty", bad);
  ExpectRejected(first, "rusty:2:");
  EXPECT_FALSE(first.already_known());
  const uint64_t runs = Count("front_end_runs");
  const auto second = Add("rusty", bad);
  ExpectRejected(second, "rusty:2:");
  EXPECT_TRUE(second.already_known());
  EXPECT_EQ(Count("front_end_runs"), runs);
  ASSERT_OK_AND_ASSIGN(const auto list,
                       daemon_.Connect()->ListSurfaces(program_));
  EXPECT_EQ(list.surfaces_size(), 0);
}

TEST_F(SurfaceCallTest, ForbiddenTextIsRefusedBeforeAnyCompile) {
  const uint64_t runs = Count("front_end_runs");
  ExpectRejected(Add("a", "layout(binding = 0) uniform U { vec4 u; };\n" +
                              std::string(kRust)),
                 "a:1:");
  ExpectRejected(Add("b", std::string(kRust) + "void main() {}\n"), "b:3:");
  ExpectRejected(Add("c", "#extension GL_EXT_foo : enable\n"), "c:1:");
  ExpectRejected(Add("d", "float nothing;\n"), "surface");
  EXPECT_EQ(Count("front_end_runs"), runs);
  EXPECT_TRUE(
      Add("e", "// uniform, main, #pragma\n" + std::string(kRust)).accepted());
}

TEST_F(SurfaceCallTest, IncludesOfASurfaceComeFromTheRoots) {
  root_.Write("lib/noise.glsl",
              "#pragma once\nfloat noise1(float x) { return sin(x); }\n");
  const std::string text =
      "#include <lib/noise.glsl>\n"
      "void surface(inout Material m) { m.albedo.b = noise1(m.albedo.r); }\n";
  EXPECT_TRUE(Add("waves", text).accepted());
  root_.Write("lib/binding.glsl", "layout(binding = 3) uniform sampler2D t;\n");
  ExpectRejected(
      Add("thief", "#include <lib/binding.glsl>\n" + std::string(kRust)),
      "binding.glsl");
  ExpectRejected(Add("lost", "#include <lib/none.glsl>\n" + std::string(kRust)),
                 "none.glsl");
}

// What a header may not bring in when a surface comes, it may not later either.
TEST_F(SurfaceCallTest, EditOfAnIncludedHeaderIsHeldToTheRules) {
  const std::string good = "// tint\nfloat one() { return 1.0; }\n";
  root_.Write("lib/helper.glsl", good);
  ASSERT_TRUE(Add("rust",
                  "#include <lib/helper.glsl>\n"
                  "void surface(inout Material m) { m.albedo.r = one(); }\n")
                  .accepted());
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kLiveTarget));
  ASSERT_TRUE(client.Ask({MakeRequest(program_, "opaque", 1)}));
  const v1::Completion before = Next(client);
  ASSERT_EQ(before.state(), v1::STATE_READY) << TextOf(before);
  root_.Save("lib/helper.glsl",
             "// tint\nlayout(binding = 5) uniform sampler2D stolen;\n"
             "float one() { return texture(stolen, vec2(0.5)).r; }\n");
  const v1::Completion refused = Next(client);
  EXPECT_EQ(refused.state(), v1::STATE_FAILED);
  EXPECT_THAT(TextOf(refused),
              HasSubstr("project/lib/helper.glsl:2: 'layout' is not allowed"));
  root_.Save("lib/helper.glsl", good);
  const v1::Completion after = Next(client);
  EXPECT_EQ(after.state(), v1::STATE_READY) << TextOf(after);
  EXPECT_EQ(after.variant().key_id(), before.variant().key_id());
}

TEST_F(SurfaceCallTest, SurfaceWritesNoOutputButItsParameter) {
  ExpectRejected(
      Add("rust", "void surface(inout Material m) { gl_FragDepth = 0.1; }\n"),
      "rust:1: 'gl_FragDepth' is not allowed in a surface: it is an output");
}

TEST_F(SurfaceCallTest, HeaderThatTheShaderNamesInVainBringsNoBinding) {
  root_.Write("lib/unused.glsl", "layout(binding = 7) uniform sampler2D t;\n");
  root_.Write("surface.frag",
              std::string(kSurfaceFragment) +
                  "#if 0\n#include <lib/unused.glsl>\n#endif\n");
  ExpectRejected(
      Add("thief", "#include <lib/unused.glsl>\n" + std::string(kRust)),
      "unused.glsl");
}

TEST_F(SurfaceCallTest, RejectionHoldsUntilAFileItIncludesIsMended) {
  const std::string text =
      "#include <lib/later.glsl>\n"
      "void surface(inout Material m) { m.albedo.b = later(m.albedo.r); }\n";
  ExpectRejected(Add("waves", text), "waves:1:");
  EXPECT_TRUE(Add("waves", text).already_known());
  root_.Write("lib/later.glsl", "float later(float x) { return y; }\n");
  ExpectRejected(Add("waves", text), "lib/later.glsl:1:");
  root_.Write("lib/later.glsl", "float later(float x) { return x; }\n");
  EXPECT_TRUE(Add("waves", text).accepted());
}

TEST_F(SurfaceCallTest, OneSurfacesIncludeIsNotAnothersFault) {
  root_.Write("lib/noise.glsl", "float noise1(float x) { return sin(x); }\n");
  const std::string waves =
      "#include <lib/noise.glsl>\n"
      "void surface(inout Material m) { m.albedo.b = noise1(m.albedo.r); }\n";
  ASSERT_TRUE(Add("waves", waves).accepted());
  root_.Remove("lib/noise.glsl");
  // The program is broken now, which says nothing of this surface.
  EXPECT_THAT(daemon_.Connect()
                  ->RegisterSurface(program_, "rust", kRust, kLiveTarget)
                  .status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("does not compile")));
  root_.Write("lib/noise.glsl", "float noise1(float x) { return cos(x); }\n");
  EXPECT_TRUE(Add("rust", kRust).accepted());
}

TEST_F(SurfaceCallTest, IncludeUnderAnIfThatIsNotTakenMayBeMissing) {
  EXPECT_TRUE(Add("rust", "#if 0\n#include <lib/none.glsl>\n#endif\n" +
                              std::string(kRust))
                  .accepted());
}

TEST_F(SurfaceCallTest, SurvivesARestartWithItsIndex) {
  ASSERT_EQ(Add("rust", kRust).index(), 1u);
  ASSERT_EQ(Add("moss", kMoss).index(), 2u);
  ASSERT_OK(daemon_.Connect()->RemoveSurface(program_, 1));
  ASSERT_OK(daemon_.Stop());
  ASSERT_OK(daemon_.Start());
  ASSERT_OK_AND_ASSIGN(const auto list,
                       daemon_.Connect()->ListSurfaces(program_));
  ASSERT_EQ(list.surfaces_size(), 1);
  EXPECT_EQ(list.surfaces(0).index(), 2u);
  EXPECT_EQ(list.surfaces(0).name(), "moss");
  EXPECT_EQ(Add("rust", kRust).index(), 1u);
}

// The driver crashed over it: "compiler crashed (signal 11)".
TEST_F(SurfaceCallTest, BindingThatTheProgramFileLacksIsAMessageNotACrash) {
  root_.Write("small.frag",
              "#version 460\n"
              "layout(set = 1, binding = 4) uniform sampler2D albedo;\n"
              "layout(constant_id = 2) const uint Features = 0x3u;\n"
              "layout(location = 0) out vec4 color;\n"
              "void main() { color = texture(albedo, vec2(0.5)); }\n");
  StreamClient client(daemon_.socket());
  ASSERT_OK(client.Attach(kLiveTarget));
  ASSERT_TRUE(client.Ask({MakeRequest(Register(Recipe()), "opaque", 1)}));
  const v1::Completion answer = Next(client);
  EXPECT_EQ(answer.state(), v1::STATE_FAILED);
  EXPECT_THAT(TextOf(answer),
              AllOf(HasSubstr("does not fit the program's pipeline"),
                    HasSubstr("project/small.frag:2: error: 'albedo' uses set "
                              "1, binding 4")));
}

TEST_F(SurfaceCallTest, ProgramsWithoutASlotTakeNone) {
  const Digest plain = Register(Recipe());
  EXPECT_THAT(daemon_.Connect()
                  ->RegisterSurface(plain, "rust", kRust, kLiveTarget)
                  .status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("small"), HasSubstr("[surface]"))));
}

}  // namespace
}  // namespace kiln::daemon
