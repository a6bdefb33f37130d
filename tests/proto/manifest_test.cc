// SPDX-License-Identifier: Apache-2.0
#include "proto/manifest.h"

#include <bit>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "proto/program_file.h"
#include "proto/text.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kInvalid;
using testing::SmallProgram;
using testing::StatusIs;
using testing::TempDir;

const Digest kProgramId = Digest::Of(AsBytes(std::string_view("a program")));

// Every kind of name and value that a line can hold: 50 bits in two words, an
// override of every type, names that are no ASCII.
Program WideProgram() {
  Program program = SmallProgram();
  program.features_constant_ids = {2, 3};
  program.features.clear();
  for (uint32_t bit = 0; bit < 50; ++bit) {
    program.features.push_back(
        {bit, "Bit" + std::to_string(bit), FeatureOwner::kMaterial});
  }
  program.features[7].name = "F\xC3\xB6hn";
  program.backdrops[1].name = "\xE7\xA9\xBA";
  for (uint32_t number = 1; number <= 12; ++number) {
    const auto type = static_cast<ConstantType>(number);
    program.overrides.push_back(
        {"O_" + std::string(ConstantTypeName(type)), 10 + number, type, 0});
  }
  return program;
}

template <typename T>
const T& OneOf(const std::vector<T>& from, std::mt19937_64& random) {
  return from[random() % from.size()];
}

// A key that may be asked for: not yet normalised.
VariantKey RandomKey(const Program& program, std::mt19937_64& random) {
  VariantKey key;
  key.program = kProgramId;
  key.kind = OneOf(program.kinds, random).value.name;
  key.backdrop = OneOf(program.backdrops, random).name;
  key.blend = OneOf(program.blends, random).name;
  key.features = random() & random() & program.AllFeatures();
  for (const Override& entry : program.overrides) {
    const uint32_t bits = ConstantBits(entry.type);
    const uint64_t value =
        random() & (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
    if (random() % 3 == 0 && CheckConstant(entry.type, value).ok()) {
      key.overrides.push_back({entry.name, value});
    }
  }
  return NormaliseKey(program, key).value();
}

TEST(ManifestTest, EveryKeyComesBackFromItsLine) {
  const Program program = WideProgram();
  ASSERT_OK(program.Validate());
  std::mt19937_64 random(20261130);
  std::string text = "# random\n\n";
  std::vector<VariantKey> keys = WholeKeys(program, kProgramId);
  for (int i = 0; i < 500; ++i) {
    keys.push_back(RandomKey(program, random));
  }
  for (const VariantKey& key : keys) {
    const std::string line = FormatManifestLine(program, key);
    ASSERT_OK_AND_ASSIGN(const Manifest one,
                         ParseManifest(program, kProgramId, line));
    ASSERT_EQ(one.keys, std::vector{key}) << line;
    text += line + "\n";
  }
  ASSERT_OK_AND_ASSIGN(const Manifest all,
                       ParseManifest(program, kProgramId, text));
  EXPECT_EQ(all.written, keys.size());
}

TEST(ManifestTest, BitsAbove32AreReadAndWritten) {
  const Program program = WideProgram();
  ASSERT_OK_AND_ASSIGN(
      const Manifest manifest,
      ParseManifest(program, kProgramId, "opaque/none/alpha Bit0|Bit49"));
  ASSERT_EQ(manifest.keys.size(), 1u);
  EXPECT_EQ(manifest.keys[0].features, (FeatureMask{1} << 49) | 1);
  EXPECT_EQ(FormatManifestLine(program, manifest.keys[0]),
            "opaque/none/alpha Bit0|Bit49");
}

TEST(ManifestTest, LinesOfOneVariantAreKeptOnceAndCounted) {
  // Opaque uses neither backdrop nor blend, and both bits are the whole shader.
  ASSERT_OK_AND_ASSIGN(const Manifest manifest,
                       ParseManifest(SmallProgram(), kProgramId,
                                     "opaque/none/alpha Warm|Noisy\n"
                                     "opaque/sky/additive whole\n"
                                     "opaque/none/alpha Noisy|Warm|Noisy\n"
                                     "blended/sky/additive none"));
  EXPECT_EQ(manifest.written, 4u);
  ASSERT_EQ(manifest.keys.size(), 2u);
  EXPECT_EQ(FormatManifestLine(SmallProgram(), manifest.keys[0]),
            "opaque/none/alpha whole");
  EXPECT_EQ(FormatManifestLine(SmallProgram(), manifest.keys[1]),
            "blended/sky/additive none");
}

TEST(ManifestTest, CommentsBlankLinesAndWindowsLineEndsSayNothing) {
  ASSERT_OK_AND_ASSIGN(
      const Manifest manifest,
      ParseManifest(SmallProgram(), kProgramId,
                    "\xEF\xBB\xBF# made by a build\r\n\r\n \t \r\n"
                    "  # indented \xFF\r\n"
                    "opaque/none/alpha \t Warm  # a road\r\n"
                    "\topaque/none/alpha Noisy #none\r\n"));
  ASSERT_EQ(manifest.keys.size(), 2u);
  EXPECT_EQ(manifest.keys[0].features, 1u);
  EXPECT_EQ(manifest.keys[1].features, 2u);
  ASSERT_OK_AND_ASSIGN(const Manifest empty,
                       ParseManifest(SmallProgram(), kProgramId, ""));
  EXPECT_TRUE(empty.keys.empty());
}

TEST(ManifestTest, EveryMistakeIsNamedWithItsLineAndWhatExists) {
  Program program = SmallProgram();
  program.overrides = {
      {"LIGHTS", 10, ConstantType::kUint32, 4, 1, 16, {4, 8, 16}}};

  struct Case {
    const char* line;
    const char* named;
  };

  const Case cases[] = {
      {"glass/none/alpha none", "no kind 'glass'; it has opaque, blended"},
      {"opaque/fog/alpha none", "no backdrop 'fog'; it has none, sky"},
      {"opaque/none/xor none", "no blend 'xor'; it has alpha, additive"},
      {"opaque/none none", "'opaque/none' is not kind/backdrop/blend"},
      {"opaque/none/alpha/x none", "is not kind/backdrop/blend"},
      {"opaque", "is not kind/backdrop/blend"},
      {"opaque/none/alpha", "has no features"},
      {"opaque/none/alpha # comment", "no feature '#'"},
      {"opaque/none/alpha Cold", "no feature 'Cold'; it has Warm, Noisy"},
      {"opaque/none/alpha Warm|", "no feature ''"},
      {"opaque/none/alpha Warm,Noisy", "no feature 'Warm,Noisy'"},
      {"opaque/none/alpha warm", "no feature 'warm'"},
      {"opaque/none/alpha none LIGHTS", "'LIGHTS' is not NAME=VALUE"},
      {"opaque/none/alpha none GLOW=1", "no override 'GLOW'; it has LIGHTS"},
      {"opaque/none/alpha none LIGHTS=many", "override LIGHTS: 'many'"},
      {"opaque/none/alpha none LIGHTS=17", "out of its range"},
      {"opaque/none/alpha none LIGHTS=8|LIGHTS=16", "given twice"},
      {"opaque/none/alpha none LIGHTS=8|", "'' is not NAME=VALUE"},
      {"opaque/none/alpha none LIGHTS=8 Warm", "'Warm' follows the overrides"},
      {"opaque/none/alpha Warm\xFF", "is not valid UTF-8"},
  };
  for (const Case& entry : cases) {
    EXPECT_THAT(ParseManifest(program, kProgramId,
                              std::string("# first\nopaque/none/alpha none\n") +
                                  entry.line + "\nalso/wrong/line none\n"),
                StatusIs(kInvalid, AllOf(HasSubstr("manifest line 3: "),
                                         HasSubstr(entry.named))))
        << entry.line;
  }
}

TEST(ManifestTest, ProgramWithoutFeaturesHasOnlyNone) {
  Program program = SmallProgram();
  program.features.clear();
  program.features_constant_ids.clear();
  ASSERT_OK_AND_ASSIGN(const Manifest manifest,
                       ParseManifest(program, kProgramId,
                                     "opaque/none/alpha none\n"
                                     "opaque/none/alpha whole\n"));
  EXPECT_EQ(manifest.keys.size(), 1u);
  EXPECT_THAT(ParseManifest(program, kProgramId, "opaque/none/alpha Warm"),
              StatusIs(kInvalid, "it has none"));
}

TEST(ManifestTest, AxesThatReadInTwoWaysAreRefusedNotGuessed) {
  Program program = SmallProgram();
  program.kinds[0].value.name = "a/b";
  program.kinds[1].value.name = "a";
  program.backdrops[0].name = "c";
  program.backdrops[1].name = "b/c";
  ASSERT_OK_AND_ASSIGN(
      const Manifest manifest,
      ParseManifest(program, kProgramId, "a/b/b/c/alpha none"));
  EXPECT_EQ(manifest.keys[0].kind, "a/b");
  EXPECT_THAT(ParseManifest(program, kProgramId, "a/b/c/alpha none"),
              StatusIs(kInvalid, "'a/b/c/alpha' can be read in 2 ways"));
}

TEST(ManifestTest, LimitsAreNamed) {
  const std::string line = "opaque/none/alpha none\n";
  EXPECT_THAT(ParseManifest(
                  SmallProgram(), kProgramId,
                  line + std::string(limits::kManifestLineBytes, ' ') + "x\n"),
              StatusIs(kInvalid, "line 2: is over 65536 bytes"));
  std::string text;
  for (size_t i = 0; i < limits::kManifestKeys; ++i) {
    text += line;
  }
  ASSERT_OK_AND_ASSIGN(const Manifest full,
                       ParseManifest(SmallProgram(), kProgramId, text));
  EXPECT_EQ(full.keys.size(), 1u);
  EXPECT_EQ(full.written, limits::kManifestKeys);
  EXPECT_THAT(ParseManifest(SmallProgram(), kProgramId, text + line),
              StatusIs(kInvalid, "line 100001: the manifest has over 100000"));
  EXPECT_THAT(ParseManifest(SmallProgram(), kProgramId,
                            std::string(limits::kManifestBytes + 1, '\n')),
              StatusIs(kInvalid, "manifest is over 33554432 bytes"));
}

TEST(ManifestTest, LongestLineOfALegalProgramIsWithinTheLimit) {
  Program program = SmallProgram();
  program.features_constant_ids = {2, 3};
  program.features.clear();
  auto name = [](uint32_t i) {
    return std::string(250, 'n') + std::to_string(i);
  };
  for (uint32_t i = 0; i < limits::kFeatureBits; ++i) {
    program.features.push_back({i, name(i), FeatureOwner::kMaterial});
    program.overrides.push_back({name(i), {}, ConstantType::kFloat64, 0});
  }
  ASSERT_OK(program.Validate());
  VariantKey key{kProgramId, "opaque", "", "", ~FeatureMask{1}, {}};
  for (const Override& entry : program.overrides) {
    key.overrides.push_back({entry.name, std::bit_cast<uint64_t>(-1.1e-300)});
  }
  ASSERT_OK_AND_ASSIGN(key, NormaliseKey(program, key));
  ASSERT_OK_AND_ASSIGN(
      const Manifest manifest,
      ParseManifest(program, kProgramId, FormatManifestLine(program, key)));
  EXPECT_EQ(manifest.keys, std::vector{key});
}

TEST(ManifestTest, JunkIsRefusedWithAMessageThatCanBePrinted) {
  const Program program = SmallProgram();
  std::mt19937 random(7);
  constexpr std::string_view kAlphabet = "opaque/none/alpha Warm|=#\r\n\t\xFF";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    const size_t size = random() % 60;
    for (size_t i = 0; i < size; ++i) {
      text += round % 2 == 0 ? static_cast<char>(random())
                             : kAlphabet[random() % kAlphabet.size()];
    }
    const auto manifest = ParseManifest(program, kProgramId, text);
    if (!manifest.ok()) {
      const std::string message(manifest.status().message());
      EXPECT_EQ(ToValidUtf8(message), message);
      EXPECT_LT(message.size(), limits::kStatusTextBytes);
    }
  }
}

TEST(ManifestTest, FileIsNamedInItsErrors) {
  const TempDir folder;
  const auto path = folder / "level.manifest";
  EXPECT_THAT(LoadManifestFile(SmallProgram(), kProgramId, path),
              StatusIs(absl::StatusCode::kNotFound, path.string()));
  EXPECT_THAT(LoadManifestFile(SmallProgram(), kProgramId, folder.path()),
              StatusIs(kInvalid, folder.path().string()));
  std::ofstream(path) << "opaque/none/alpha Warm\nglass/none/alpha none\n";
  EXPECT_THAT(
      LoadManifestFile(SmallProgram(), kProgramId, path),
      StatusIs(kInvalid, AllOf(HasSubstr(path.string()), HasSubstr("line 2"))));
  std::ofstream(path) << "opaque/none/alpha Warm\n";
  ASSERT_OK_AND_ASSIGN(const Manifest manifest,
                       LoadManifestFile(SmallProgram(), kProgramId, path));
  EXPECT_EQ(manifest.keys.size(), 1u);
}

// Content that the README and other tests use.
TEST(ManifestTest, SceneManifestFitsTheSceneProgram) {
  ASSERT_OK_AND_ASSIGN(
      const Program scene,
      LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml"));
  ASSERT_OK_AND_ASSIGN(
      const Manifest manifest,
      LoadManifestFile(scene, kProgramId,
                       KILN_SOURCE_DIR "/shaders/scene/scene.manifest"));
  EXPECT_GE(manifest.keys.size(), 12u);
  std::set<std::string> kinds;
  for (const VariantKey& key : manifest.keys) {
    kinds.insert(key.kind);
  }
  EXPECT_EQ(kinds.size(), scene.kinds.size());
}

}  // namespace
}  // namespace kiln
