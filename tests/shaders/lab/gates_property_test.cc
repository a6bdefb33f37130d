// SPDX-License-Identifier: Apache-2.0

// The contract of the scene's bits: one that is cleared belongs to a gate that
// is false. The gates are evaluated by a device, from the text the blocks are
// made of (gate_calls.h); the bits come from the library engines link.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/compiler.h"
#include "shaders/lab/compute.h"
#include "shaders/lab/lane_writer.h"
#include "shaders/lab/random.h"
#include "shaders/scene/scene_features.h"
#include "tests/shaders/lab/gate_calls.h"
#include "tests/shaders/pipeline_fixture.h"
#include "tests/support/status_matchers.h"

namespace kiln::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kCases = 20'000;
constexpr uint32_t kGroupSize = 64;  // of GateKernel

struct GateCase {
  scene::MaterialLanes material;
  scene::FrameLanes frame;
};

// What the device said of a case.
struct GateWords {
  uint32_t truths = 0;
  uint32_t derived = 0;
};

using Derive = std::function<uint32_t(const GateCase&)>;

uint32_t DeriveByLibrary(const GateCase& c) {
  return scene::Combine(scene::OfMaterial(c.material), scene::OfFrame(c.frame));
}

uint32_t RandomWord(Random& random) {
  switch (random.Below(5)) {
    case 0:
      return 0;
    case 1:
      return 0xffffffff;
    case 2:
      return 1u << random.Below(32);
    case 3:
      return random.Below(4);
    default:
      return random.Bits();
  }
}

float RandomFloat(Random& random) {
  using Limits = std::numeric_limits<float>;
  const std::array<float, 14> odd = {0.0f,
                                     -0.0f,
                                     1.0f,
                                     -1.0f,
                                     Limits::min(),
                                     -Limits::min(),
                                     Limits::denorm_min(),
                                     -Limits::denorm_min(),
                                     std::nextafter(Limits::min(), 0.0f),
                                     Limits::max(),
                                     Limits::infinity(),
                                     -Limits::infinity(),
                                     Limits::quiet_NaN(),
                                     -Limits::quiet_NaN()};
  switch (random.Below(4)) {
    case 0:
      return odd[random.Below(odd.size())];
    case 1:
      return std::bit_cast<float>(random.Bits());
    case 2:
      return 0;
    default:
      return random.Between(-1, 2);
  }
}

std::vector<GateCase> RandomCases() {
  Random random(20);
  std::vector<GateCase> cases(kCases);
  for (GateCase& c : cases) {
    c.material.draw_flags = RandomWord(random);
    c.material.row_in_table = !random.OneIn(8);
    for (uint32_t i = 0; i < 4; ++i) {
      c.material.layers[i] = RandomWord(random);
      c.material.relief[i] = RandomFloat(random);
      c.frame.switches[i] = RandomWord(random);
      c.frame.counts[i] = RandomWord(random);
      c.frame.strengths[i] = RandomFloat(random);
    }
  }
  return cases;
}

void Append(const std::array<float, 4>& lane, LaneWriter& out) {
  out.Floats(lane[0], lane[1], lane[2], lane[3]);
}

void Append(const std::array<uint32_t, 4>& lane, LaneWriter& out) {
  out.Uints(lane[0], lane[1], lane[2], lane[3]);
}

absl::StatusOr<std::vector<GateWords>> RunGates(
    pipeline::Device& device, const std::vector<GateCase>& cases) {
  Program program;
  program.name = "gates";
  program.stages = {{Stage::kCompute, "gates.comp"}};
  program.files = {{"gates.comp", GateKernel(ReadGateText())},
                   {"gates.glsl", ReadSceneFile("gates.glsl")}};
  const shaders::StageResult code =
      shaders::CompileStage(program, Stage::kCompute);
  if (!code.ok()) {
    return absl::InvalidArgumentError(code.diagnostics);
  }
  LaneWriter lanes;
  for (const GateCase& c : cases) {
    Append(c.material.layers, lanes);
    Append(c.material.relief, lanes);
    Append(c.frame.switches, lanes);
    Append(c.frame.counts, lanes);
    Append(c.frame.strengths, lanes);
    lanes.Uints(c.material.draw_flags, c.material.row_in_table ? 1 : 0, 0, 0);
  }
  std::vector<GateWords> words(cases.size());
  DispatchRequest request;
  request.spirv = code.spirv;
  request.inputs.resize(2);
  request.inputs[0].bytes = lanes.Take();
  request.inputs[1].binding = 1;
  request.inputs[1].bytes.resize(words.size() * sizeof(GateWords));
  request.groups[0] =
      (static_cast<uint32_t>(cases.size()) + kGroupSize - 1) / kGroupSize;
  KILN_ASSIGN_OR_RETURN(const DispatchResult result, Dispatch(device, request));
  std::memcpy(words.data(), result.buffers.at(1).data(),
              words.size() * sizeof(GateWords));
  return words;
}

// May a driver see `number` as zero, or NaN as anything?
bool IsAmbiguous(float number) {
  return std::isnan(number) || std::fpclassify(number) == FP_SUBNORMAL;
}

bool IsExact(const GateCase& c) {
  const auto& relief = c.material.relief;
  const auto& strengths = c.frame.strengths;
  return c.material.row_in_table && !IsAmbiguous(relief[0]) &&
         !IsAmbiguous(relief[1]) && !IsAmbiguous(relief[2]) &&
         !IsAmbiguous(strengths[0]) && !IsAmbiguous(strengths[1]);
}

struct Findings {
  uint32_t broken = 0;  // cases with a cleared bit whose gate is true
  std::string first_broken;
  uint32_t exact = 0;  // cases where bits and gates have to be equal
  uint32_t loose = 0;  // of those, where they are not
  uint32_t seen_set = 0;
  uint32_t seen_cleared = 0;
};

Findings Compare(const std::vector<GateCase>& cases,
                 const std::vector<GateWords>& words, const Derive& derive) {
  Findings found;
  for (size_t i = 0; i < cases.size(); ++i) {
    const uint32_t bits = derive(cases[i]);
    const uint32_t truths = words[i].truths;
    if ((truths & ~bits) != 0) {
      ++found.broken;
      if (found.first_broken.empty()) {
        found.first_broken = fmt::format("case {}: bits {:#07x}, gates {:#07x}",
                                         i, bits, truths);
      }
    }
    if (IsExact(cases[i])) {
      ++found.exact;
      found.loose += bits != truths ? 1 : 0;
    }
    found.seen_set |= bits;
    found.seen_cleared |= ~bits & scene::kAllFeatures;
  }
  return found;
}

// Skips where there is no lavapipe.
class GatesPropertyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    KILN_OPEN_OR_SKIP(device, "lavapipe");
    ASSERT_OK_AND_ASSIGN(words_, RunGates(*device, cases_));
    EXPECT_THAT(device->validation_messages(), IsEmpty());
  }

  Findings CompareWith(const Derive& derive) const {
    return Compare(cases_, words_, derive);
  }

  const std::vector<GateCase> cases_ = RandomCases();
  std::vector<GateWords> words_;
};

TEST_F(GatesPropertyTest, NoClearedBitHasATrueGate) {
  const Findings found = CompareWith(DeriveByLibrary);
  EXPECT_EQ(found.broken, 0) << found.first_broken;
  EXPECT_EQ(found.seen_set, scene::kAllFeatures);
  EXPECT_EQ(found.seen_cleared, scene::kAllFeatures);
}

TEST_F(GatesPropertyTest, BitsAreTheGatesWhereEveryDeviceAgrees) {
  const Findings found = CompareWith(DeriveByLibrary);
  EXPECT_GT(found.exact, kCases / 4);
  EXPECT_EQ(found.loose, 0);
}

TEST_F(GatesPropertyTest, BitsDerivedOnTheDeviceClearNoTrueGateEither) {
  for (size_t i = 0; i < cases_.size(); ++i) {
    const GateWords& words = words_[i];
    ASSERT_EQ(words.truths & ~words.derived, 0) << "case " << i;
    // The library keeps more where a device may decide either way.
    ASSERT_EQ(words.derived & ~DeriveByLibrary(cases_[i]), 0) << "case " << i;
  }
}

// What the test above would say of derivations with a fault.
TEST_F(GatesPropertyTest, FaultyDerivationsAreCaught) {
  const Derive ignores_detail_relief = [](GateCase c) {
    c.material.relief[1] = 0;
    return DeriveByLibrary(c);
  };
  const Derive trusts_missing_rows = [](GateCase c) {
    if (!c.material.row_in_table) {
      c.material = {c.material.draw_flags, true, {}, {}};
    }
    return DeriveByLibrary(c);
  };
  const Derive uses_last_frames_switches = [](GateCase c) {
    c.frame.switches = {};
    return DeriveByLibrary(c);
  };
  const Derive forgets_the_frame_only_bits = [](const GateCase& c) {
    return scene::OfMaterial(c.material) &
           scene::Combine(scene::kAllFeatures, scene::OfFrame(c.frame));
  };
  for (const Derive& faulty :
       {ignores_detail_relief, trusts_missing_rows, uses_last_frames_switches,
        forgets_the_frame_only_bits}) {
    EXPECT_GT(CompareWith(faulty).broken, 0);
  }
}

TEST(SceneFeaturesTest, FloatsThatDriversReadDifferentlyKeepTheirBits) {
  using Limits = std::numeric_limits<float>;
  const auto bits = [](float depth) {
    return scene::OfMaterial(
        {0, true, {scene::kMaterialHasHeight, 0, 0, 0}, {depth, 0, 0, 8}});
  };
  const uint32_t height = 1u << 2;
  for (const float depth :
       {Limits::denorm_min(), Limits::quiet_NaN(), -Limits::quiet_NaN(),
        Limits::min(), Limits::infinity()}) {
    EXPECT_EQ(bits(depth), height) << depth;
  }
  for (const float depth :
       {0.0f, -0.0f, -Limits::denorm_min(), -1.0f, -Limits::infinity()}) {
    EXPECT_EQ(bits(depth), 0) << depth;
  }
}

TEST(GateTextTest, EveryBlockIsGuardedByItsBitAndAGate) {
  const GateText text = ReadGateText();
  EXPECT_THAT(text.bare_uses, IsEmpty());
  std::set<std::string> guarded;
  for (const GateCall& call : text.calls) {
    EXPECT_THAT(call.text, HasSubstr("(")) << call.block;
    guarded.insert(call.block);
  }
  std::set<std::string> declared;
  uint32_t mask = 0;
  for (const auto& [block, bit] : text.bits) {
    declared.insert(block);
    mask |= 1u << bit;
  }
  EXPECT_EQ(guarded, declared);
  EXPECT_EQ(mask, scene::kAllFeatures);
}

TEST(GateTextTest, EveryGateThatTheShaderCallsIsEvaluated) {
  const GateText text = ReadGateText();
  std::vector<std::string> others;
  for (const std::string& gate : text.called) {
    if (!text.guarding.contains(gate)) {
      others.push_back(gate);
    }
  }
  // Parts of GateHeight, asked for inside of what it guards.
  EXPECT_THAT(others, ElementsAre("GateBaseHeight", "GateDetailHeight"));
}

}  // namespace
}  // namespace kiln::lab
