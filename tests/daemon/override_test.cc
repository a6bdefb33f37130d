// SPDX-License-Identifier: Apache-2.0

// Named overrides through the daemon: constants found by name, values no code
// reads, values a driver would crash on (KNOWN_FAULTS 15, 34).

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/client.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/variant_key.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stream_client.h"
#include "tests/support/targets.h"

namespace kiln::daemon {
namespace {

using ::testing::AllOf;
using testing::DaemonProcess;
using ::testing::HasSubstr;
using testing::kVanGogh;
using testing::MakeRequest;
using testing::SmallProgram;
using testing::StatusIs;
using testing::StreamClient;

// Of NEVER_READ no value changes anything; ONLY_WHEN_FOG is read by code that
// the default of FOG turns off, which is not the same.
constexpr char kFragment[] = R"(#version 460
layout(constant_id = 2) const uint Features = 3u;
layout(constant_id = 10) const bool FOG = false;
layout(constant_id = 11) const int NEVER_READ = 7;
layout(constant_id = 12) const float ONLY_WHEN_FOG = 0.5;
layout(constant_id = 13) const int LENGTH = 16;
layout(location = 0) out vec4 o;
void main() {
  float kept[LENGTH];
  for (int i = 0; i < LENGTH; ++i) kept[i] = gl_FragCoord.x * float(i);
  float sum = 0.0;
  for (int i = 0; i < LENGTH; ++i) sum += kept[(i * 7) % LENGTH];
  o = FOG ? vec4(ONLY_WHEN_FOG) : vec4(sum);
}
)";

Program ProgramWithOverrides() {
  Program program = SmallProgram(kFragment);
  program.overrides = {
      {"FOG", 10, ConstantType::kBool, 0},
      {"NEVER_READ", 11, ConstantType::kInt32, 7},
      {"ONLY_WHEN_FOG", std::nullopt, ConstantType::kFloat32, 0x3f000000},
      {"LENGTH", std::nullopt, ConstantType::kInt32, 16}};
  return program;
}

testing::DaemonProcessOptions Validating() {
  testing::DaemonProcessOptions options;
  options.arguments = {"--validate"};
  return options;
}

class OverrideTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(daemon_.Start());
    client_ = std::make_unique<StreamClient>(daemon_.socket());
    ASSERT_OK(client_->Attach(kVanGogh));
  }

  v1::Completion Ask(const Program& program,
                     const std::vector<OverrideValue>& overrides) {
    auto id = daemon_.Connect()->RegisterProgram(program);
    EXPECT_OK(id);
    v1::VariantRequest request =
        MakeRequest(id.value_or(Digest()), "opaque", 1);
    for (const OverrideValue& entry : overrides) {
      v1::OverrideValue* out = request.add_overrides();
      out->set_name(entry.name);
      out->set_value(entry.value);
    }
    auto completion = client_->AskOne(request);
    EXPECT_OK(completion);
    return completion.value_or(v1::Completion());
  }

  void TearDown() override {
    EXPECT_EQ(daemon_.CounterValue("validation_messages"), 0u);
  }

  DaemonProcess daemon_{Validating()};
  std::unique_ptr<StreamClient> client_;
};

TEST_F(OverrideTest, EveryScalarTypeReachesTheDriverWithItsWidth) {
  Program program = SmallProgram(R"(#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(constant_id = 2) const uint Features = 3u;
layout(constant_id = 10) const bool B = false;
layout(constant_id = 11) const int8_t I8 = int8_t(1);
layout(constant_id = 12) const uint8_t U8 = uint8_t(1);
layout(constant_id = 13) const int16_t I16 = int16_t(1);
layout(constant_id = 14) const uint16_t U16 = uint16_t(1);
layout(constant_id = 15) const int I32 = 1;
layout(constant_id = 16) const uint U32 = 1u;
layout(constant_id = 17) const int64_t I64 = 1l;
layout(constant_id = 18) const uint64_t U64 = 1ul;
layout(constant_id = 19) const float16_t F16 = 1.0hf;
layout(constant_id = 20) const float F32 = 1.0;
layout(constant_id = 21) const double F64 = 1.0lf;
layout(location = 0) out vec4 o;
void main() {
  float x = gl_FragCoord.x * float(I8) + float(U8) * float(I16) + float(U16);
  x += float(I32) * float(U32) - float(I64) + float(U64) * float(F16);
  o = B ? vec4(x) : vec4(x * F32 + float(F64));
}
)");
  const std::vector<std::pair<const char*, const char*>> values = {
      {"bool", "true"},
      {"int8", "-128"},
      {"uint8", "255"},
      {"int16", "-32768"},
      {"uint16", "65535"},
      {"int", "-2147483648"},
      {"uint", "4294967295"},
      {"int64", "-9223372036854775808"},
      {"uint64", "18446744073709551615"},
      {"float16", "-2.5"},
      {"float", "0.25"},
      {"float64", "1e300"}};
  const char* const kNames[] = {"B",   "I8",  "U8",  "I16", "U16", "I32",
                                "U32", "I64", "U64", "F16", "F32", "F64"};
  std::vector<OverrideValue> asked;
  for (size_t i = 0; i < values.size(); ++i) {
    const ConstantType type = *ConstantTypeFromName(values[i].first);
    const uint64_t one =
        type == ConstantType::kBool ? 0 : *ParseConstant(type, "1");
    program.overrides.push_back({kNames[i], std::nullopt, type, one});
    asked.push_back({kNames[i], *ParseConstant(type, values[i].second)});
  }
  const v1::Completion completion = Ask(program, asked);
  ASSERT_EQ(completion.state(), v1::STATE_READY) << completion.DebugString();
  EXPECT_EQ(completion.variant().overrides_size(), 12);
  EXPECT_THAT(completion.variant().label(),
              AllOf(HasSubstr("B=true"), HasSubstr("I8=-128"),
                    HasSubstr("U64=18446744073709551615"),
                    HasSubstr("F16=-2.5"), HasSubstr("F64=1e+300")));
}

TEST_F(OverrideTest, ValuesThatNoCodeReadsShareOneVariant) {
  const Program program = ProgramWithOverrides();
  const v1::Completion first = Ask(program, {{"NEVER_READ", 1}});
  const v1::Completion second = Ask(program, {{"NEVER_READ", 2}});
  const v1::Completion plain = Ask(program, {});
  ASSERT_EQ(first.state(), v1::STATE_READY) << first.DebugString();
  EXPECT_EQ(first.variant().key_id(), plain.variant().key_id());
  EXPECT_EQ(second.variant().key_id(), plain.variant().key_id());
  EXPECT_EQ(first.variant().overrides_size(), 0);
  EXPECT_EQ(daemon_.CounterValue("compiles_started"), 1u);
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 1u);
}

TEST_F(OverrideTest, WhichOverridesNoCodeReadsIsKnownAfterARestart) {
  const Program program = ProgramWithOverrides();
  const std::string key = Ask(program, {{"NEVER_READ", 1}}).variant().key_id();
  client_.reset();
  ASSERT_OK(daemon_.Stop());
  SetUp();
  const v1::Completion again = Ask(program, {{"NEVER_READ", 3}});
  EXPECT_EQ(again.variant().key_id(), key);
  EXPECT_EQ(again.origin(), v1::ORIGIN_STORE);
  EXPECT_EQ(daemon_.CounterValue("front_end_runs"), 0u);
}

TEST_F(OverrideTest, ValueReadOnlyUnderAnotherOverrideStaysInTheKey) {
  const Program program = ProgramWithOverrides();
  const v1::Completion plain = Ask(program, {});
  const v1::Completion fog =
      Ask(program, {{"FOG", 1}, {"ONLY_WHEN_FOG", 0x3e800000}});
  ASSERT_EQ(fog.state(), v1::STATE_READY) << fog.DebugString();
  EXPECT_NE(fog.variant().key_id(), plain.variant().key_id());
  EXPECT_THAT(fog.variant().label(), HasSubstr("FOG=true|ONLY_WHEN_FOG=0.25"));
}

TEST_F(OverrideTest, OverrideThatTheSourceDoesNotDeclareIsRefusedByName) {
  Program by_id = ProgramWithOverrides();
  by_id.overrides.push_back({"TYPO", 99, ConstantType::kUint32, 0});
  EXPECT_THAT(Ask(by_id, {{"TYPO", 1}}).failure().message(),
              AllOf(HasSubstr("TYPO"), HasSubstr("constant_id 99")));
  Program by_name = ProgramWithOverrides();
  by_name.overrides.push_back(
      {"NUM_LIGTHS", std::nullopt, ConstantType::kUint32, 0});
  EXPECT_THAT(Ask(by_name, {{"NUM_LIGTHS", 1}}).failure().message(),
              HasSubstr("NUM_LIGTHS"));
}

// A key leaves the default out, so a schema that has another one than the
// shader would silently give another value.
TEST_F(OverrideTest, OverrideThatDiffersFromTheShaderIsRefusedForEveryKey) {
  Program wrong_default = ProgramWithOverrides();
  wrong_default.overrides[3].default_value = 20;
  EXPECT_THAT(Ask(wrong_default, {}).failure().message(),
              HasSubstr("LENGTH: its default is 20 in the schema and 16"));
  Program wrong_type = ProgramWithOverrides();
  wrong_type.overrides[3].type = ConstantType::kUint32;
  EXPECT_THAT(Ask(wrong_type, {}).failure().message(),
              HasSubstr("LENGTH: its type is uint in the schema and int"));
}

TEST_F(OverrideTest, OverrideByNameThatAKindAlsoSetsIsRefusedNamingBoth) {
  Program program = ProgramWithOverrides();
  program.kinds[0].value.constants = {{13, 8, ConstantType::kInt32}};
  EXPECT_THAT(Ask(program, {{"LENGTH", 8}}).failure().message(),
              AllOf(HasSubstr("LENGTH"), HasSubstr("kind opaque")));
  Program twice = ProgramWithOverrides();
  twice.overrides.push_back(
      {"Features", std::nullopt, ConstantType::kUint32, 3});
  EXPECT_THAT(Ask(twice, {}).failure().message(),
              AllOf(HasSubstr("Features"), HasSubstr("the features")));
}

TEST_F(OverrideTest, ArrayLengthThatWouldKillTheDriverIsRefusedBeforeIt) {
  const Program program = ProgramWithOverrides();
  for (const uint64_t length : {uint64_t{0}, uint64_t{0xffffffff},
                                uint64_t{0x80000000}, uint64_t{1} << 28}) {
    const v1::Completion completion = Ask(program, {{"LENGTH", length}});
    EXPECT_EQ(completion.state(), v1::STATE_FAILED) << length;
    EXPECT_THAT(completion.failure().message(), HasSubstr("LENGTH"));
    EXPECT_THAT(completion.failure().message(), HasSubstr("limit"))
        << "of " << length;
  }
  EXPECT_EQ(daemon_.CounterValue("workers_crashed"), 0u);
  EXPECT_EQ(Ask(program, {{"LENGTH", 32}}).state(), v1::STATE_READY);
}

// Feature masks past 32 bits: bit 33 reaches its own constant and code, and is
// neither bit 1 nor nothing.
TEST_F(OverrideTest, FeaturesPastThirtyTwoBitsSelectTheirOwnCode) {
  Program program = SmallProgram(R"(#version 460
layout(constant_id = 2) const uint Features = 3u;
layout(constant_id = 3) const uint FeaturesHigh = 2u;
layout(location = 0) out vec4 o;
void main() {
  o = vec4(0.0);
  if ((Features & 2u) != 0u) o += gl_FragCoord;
  if ((FeaturesHigh & 2u) != 0u) o += sin(cos(tan(sqrt(gl_FragCoord))));
}
)");
  program.features_constant_ids = {2, 3};
  program.features.push_back({33, "High", FeatureOwner::kFrame});
  ASSERT_OK_AND_ASSIGN(const Digest id,
                       daemon_.Connect()->RegisterProgram(program));
  std::map<std::string, uint32_t> instructions;
  for (const FeatureMask mask :
       {FeatureMask{0}, FeatureMask{2}, FeatureMask{1} << 33}) {
    v1::VariantRequest request = MakeRequest(id, "opaque", 0);
    request.set_features(mask);
    ASSERT_OK_AND_ASSIGN(const v1::Completion completion,
                         client_->AskOne(request));
    ASSERT_EQ(completion.state(), v1::STATE_READY) << completion.DebugString();
    EXPECT_EQ(completion.variant().features(), mask);
    instructions[completion.variant().label()] =
        completion.variant().instructions();
  }
  EXPECT_EQ(instructions.size(), 3u);
  EXPECT_GT(instructions["small opaque/none/alpha High"],
            instructions["small opaque/none/alpha Noisy"]);
  EXPECT_GT(instructions["small opaque/none/alpha Noisy"],
            instructions["small opaque/none/alpha none"]);
}

TEST_F(OverrideTest, ClientGetsTheVariantThatServesItsKey) {
  client::ClientOptions options;
  options.socket = daemon_.socket();
  options.target = kVanGogh;
  const auto client = client::Client::Connect(options);
  const Program program = ProgramWithOverrides();
  ASSERT_OK_AND_ASSIGN(const Digest id, client->Register(program));
  const VariantKey key{id, "opaque", "", "", 1, {{"NEVER_READ", 5}}};
  ASSERT_OK_AND_ASSIGN(const Digest asked, client->Request(key));
  EXPECT_TRUE(testing::Eventually([&] {
    client->Poll(nullptr);
    return client->StateOf(asked).state == client::VariantState::kReady;
  }));
  const auto variant = client->Resolve(asked);
  ASSERT_NE(variant, nullptr);
  EXPECT_TRUE(variant->artifact.key.overrides.empty());
}

}  // namespace
}  // namespace kiln::daemon
