// SPDX-License-Identifier: Apache-2.0
#include "daemon/explain_call.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/v1/kiln.pb.h"
#include "proto/wire.h"
#include "storage/variant_store.h"
#include "tests/daemon/explain_programs.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::SmallProgram;
using testing::StatusIs;

// A recipe has no files; here it only lends its id to a list of snapshots.
Program Recipe() {
  Program recipe = SmallProgram();
  recipe.rooted = true;
  recipe.files.clear();
  return recipe;
}

// Against a real store: in memory, where there is such a file system, since
// nothing here is about the disk.
class ExplainCallTest : public ::testing::Test {
 protected:
  ExplainCallTest()
      : folder_(access("/dev/shm", W_OK) == 0
                    ? std::filesystem::path("/dev/shm")
                    : std::filesystem::temp_directory_path()) {
    auto store = storage::VariantStore::Open(folder_ / "db", {});
    EXPECT_OK(store);
    store_ = *std::move(store);
    registry_ = std::make_unique<ProgramRegistry>(*store_);
    EXPECT_OK(store_->PutTarget(Device("b1")));
  }

  Digest Register(const Program& program) {
    Bytes bytes = EncodeProgram(program);
    const Digest id = Digest::Of(bytes);
    EXPECT_OK(registry_->Register(id, std::move(bytes)));
    return id;
  }

  // A key of a program that is registered by this.
  VariantKey KeyOf(const Program& program, FeatureMask features = 1) {
    return {Register(program), "opaque", "none", "alpha", features, {}};
  }

  void Store(const VariantKey& key, const Digest& target) {
    Artifact artifact;
    artifact.target = target;
    artifact.key = key;
    EXPECT_OK(store_->PutArtifact(artifact, {}));
  }

  absl::StatusOr<v1::ExplainResponse> Explain(
      const v1::ExplainRequest& request) {
    const ExplainContext context = {
        *store_, *registry_, asked_, [this](const Digest& id) {
          return registry_->Find(
              id == Digest::Of(EncodeProgram(Recipe())) ? current_ : id);
        }};
    v1::ExplainResponse response;
    KILN_RETURN_IF_ERROR(AnswerExplain(context, request, &response));
    return response;
  }

  absl::StatusOr<v1::ExplainResponse> ByDigits(const std::string& digits) {
    v1::ExplainRequest request;
    request.set_key_id(digits);
    return Explain(request);
  }

  testing::TempDir folder_;
  std::unique_ptr<storage::VariantStore> store_;
  std::unique_ptr<ProgramRegistry> registry_;
  AskedKeys asked_;
  Digest current_;  // what the recipe means
  const Digest target_ = Device("b1").Id();
};

TEST_F(ExplainCallTest, KeyThatFailedIsUnderstoodByAPrefixOfItsDigits) {
  const VariantKey old = KeyOf(Edited("one"));
  const VariantKey now = KeyOf(Edited("two"));
  Store(old, target_);
  asked_.Ask(target_, KeyId(now), now, "label");
  asked_.Settle(target_, KeyId(now), absl::InternalError("does not compile"));
  ASSERT_OK_AND_ASSIGN(const v1::ExplainResponse response,
                       ByDigits(KeyId(now).ShortHex()));
  EXPECT_EQ(response.key_id(), KeyId(now).raw());
  EXPECT_EQ(response.target(), target_.raw());
  EXPECT_EQ(response.label(), "small opaque/none/alpha Warm");
  EXPECT_EQ(response.state(), "failed");
  EXPECT_EQ(response.message(), "does not compile");
  EXPECT_EQ(response.nearest().key_id(), KeyId(old).raw());
  ASSERT_THAT(response.differences(), SizeIs(1));
  EXPECT_EQ(response.differences(0).kind(), "file");
  EXPECT_EQ(response.differences(0).name(), "small.frag");
  EXPECT_THAT(response.differences(0).asked(), HasSubstr("two"));
}

TEST_F(ExplainCallTest, StateIsThatOfTheNewestRequest) {
  const VariantKey key = KeyOf(SmallProgram());
  const std::string digits = KeyId(key).Hex();
  asked_.Ask(target_, KeyId(key), key, "label");
  ASSERT_OK_AND_ASSIGN(v1::ExplainResponse response, ByDigits(digits));
  EXPECT_EQ(response.state(), "in flight");
  EXPECT_FALSE(response.has_nearest());
  asked_.Settle(target_, KeyId(key), absl::OkStatus());
  ASSERT_OK_AND_ASSIGN(response, ByDigits(digits));
  EXPECT_EQ(response.state(), "missing");
  Store(key, target_);
  ASSERT_OK_AND_ASSIGN(response, ByDigits(digits));
  EXPECT_EQ(response.state(), "stored");
  EXPECT_FALSE(response.has_nearest());
}

TEST_F(ExplainCallTest, TargetIsThatOfTheNewestRequestUnlessOneIsNamed) {
  const VariantKey key = KeyOf(SmallProgram());
  const Digest updated = Device("b2").Id();
  ASSERT_OK(store_->PutTarget(Device("b2")));
  Store(key, target_);
  asked_.Ask(updated, KeyId(key), key, "label");
  ASSERT_OK_AND_ASSIGN(v1::ExplainResponse response,
                       ByDigits(KeyId(key).ShortHex()));
  EXPECT_EQ(response.target(), updated.raw());
  ASSERT_THAT(response.differences(), SizeIs(1));
  EXPECT_EQ(response.differences(0).kind(), "driver");
  EXPECT_EQ(response.differences(0).stored(), "b1");
  v1::ExplainRequest named;
  named.set_key_id(KeyId(key).Hex());
  named.set_target(std::string(target_.raw()));
  ASSERT_OK_AND_ASSIGN(response, Explain(named));
  EXPECT_EQ(response.target(), target_.raw());
  EXPECT_EQ(response.state(), "stored");
}

TEST_F(ExplainCallTest, RecipeIsAskedForByWhatItMeansNow) {
  const Digest recipe = Register(Recipe());
  const VariantKey first = KeyOf(Edited("one"));
  const VariantKey second = KeyOf(Edited("two"));
  const VariantKey third = KeyOf(Edited("three"));
  Store(first, target_);
  Store(second, target_);
  ASSERT_OK(store_->PutSnapshots(
      recipe, {{third.program, 3}, {second.program, 2}, {first.program, 1}}));
  current_ = third.program;
  v1::ExplainRequest request;
  request.set_target(std::string(target_.raw()));
  VariantKey key = third;
  key.program = recipe;
  wire::KeyToWire(key, request.mutable_key());
  ASSERT_OK_AND_ASSIGN(const v1::ExplainResponse response, Explain(request));
  EXPECT_EQ(response.key_id(), KeyId(third).raw());
  EXPECT_EQ(response.state(), "never asked for");
  EXPECT_EQ(response.nearest().key_id(), KeyId(second).raw());
}

TEST_F(ExplainCallTest, KeyByItsPartsNeedsATargetOrARequest) {
  const VariantKey key = KeyOf(SmallProgram());
  v1::ExplainRequest request;
  wire::KeyToWire(key, request.mutable_key());
  EXPECT_THAT(Explain(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "target"));
  asked_.Ask(target_, KeyId(key), key, "label");
  EXPECT_OK(Explain(request));
  request.set_target("short");
  EXPECT_THAT(Explain(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "target"));
  request.mutable_key()->set_kind("glass");
  EXPECT_THAT(Explain(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "glass"));
  request.mutable_key()->set_program_id(std::string(32, 'x'));
  EXPECT_THAT(Explain(request), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ExplainCallTest, EntryThatMayServeTheKeyAsItIsIsSaidToBeOne) {
  Program program = SmallProgram();
  program.overrides = {{"GAIN", 10, ConstantType::kUint32, 4}};
  VariantKey key = KeyOf(program);
  Store(key, target_);
  key.overrides = {{"GAIN", 8}};
  v1::ExplainRequest request;
  request.set_target(std::string(target_.raw()));
  wire::KeyToWire(key, request.mutable_key());
  ASSERT_OK_AND_ASSIGN(v1::ExplainResponse response, Explain(request));
  EXPECT_THAT(response.message(), HasSubstr("no code reads"));
  ASSERT_THAT(response.differences(), SizeIs(1));
  EXPECT_EQ(response.differences(0).name(), "override GAIN");
  Store(key, target_);
  ASSERT_OK_AND_ASSIGN(response, Explain(request));
  EXPECT_EQ(response.message(), "");
}

TEST_F(ExplainCallTest, DigitsThatNameNothingOrNoneAreRefusedByName) {
  EXPECT_THAT(ByDigits("0123abcd"),
              StatusIs(absl::StatusCode::kNotFound, "0123abcd"));
  for (const char* digits : {"", "abc", "xyzw", "0123 "}) {
    EXPECT_THAT(ByDigits(digits),
                StatusIs(absl::StatusCode::kInvalidArgument, "hexadecimal"))
        << digits;
  }
  EXPECT_THAT(ByDigits(std::string(65, 'a')),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ExplainCallTest, PrefixOfSeveralKeysIsRefusedWithTheirNames) {
  // Keys until two share their first four digits: some hundreds.
  std::map<std::string, VariantKey> by_prefix;
  VariantKey key = KeyOf(SmallProgram());
  for (uint64_t i = 0;; ++i) {
    key.features = i;
    const std::string prefix = KeyId(key).Hex().substr(0, 4);
    const auto [found, is_new] = by_prefix.emplace(prefix, key);
    if (!is_new) {
      asked_.Ask(target_, KeyId(key), key, "");
      asked_.Ask(target_, KeyId(found->second), found->second, "");
      EXPECT_THAT(ByDigits(prefix),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           AllOf(HasSubstr(KeyId(key).ShortHex()),
                                 HasSubstr("more digits"))));
      break;
    }
  }
}

TEST_F(ExplainCallTest, UpperCaseDigitsAreTheSameKey) {
  const VariantKey key = KeyOf(SmallProgram());
  Store(key, target_);
  std::string digits = KeyId(key).Hex();
  std::ranges::transform(digits, digits.begin(), [](unsigned char c) {
    return static_cast<char>(std::toupper(c));
  });
  EXPECT_OK(ByDigits(digits));
}

}  // namespace
}  // namespace kiln::daemon
