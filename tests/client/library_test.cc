// SPDX-License-Identifier: Apache-2.0
#include "client/library.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/bytes.h"
#include "proto/module_interface.h"
#include "tests/support/status_matchers.h"

namespace kiln::client {
namespace {

using testing::StatusIs;

// Bytecode of its own for each `number`, in a copy of its own each time.
ShaderCode Code(uint32_t number) {
  ShaderCode code;
  code.spirv = std::make_shared<const std::vector<uint32_t>>(
      std::vector<uint32_t>{0x07230203, number, number});
  code.digest = Digest::Of(AsBytes(std::span<const uint32_t>(*code.spirv)));
  return code;
}

class LibraryTest : public ::testing::Test {
 protected:
  // Commits bytecode `number` under `name`; the caller owns it.
  ShaderOwner Commit(const std::string& name, uint32_t number) {
    absl::StatusOr<ShaderOwner> owner = library_.Commit(name, Code(number));
    EXPECT_OK(owner);
    return owner.ok() ? *std::move(owner) : ShaderOwner();
  }

  // The number of the bytecode that `handle` resolves to; -1: null.
  int64_t Number(ShaderHandle handle) const {
    const ResolvedShader* shader = library_.Resolve(handle);
    return shader == nullptr ? -1 : int64_t{(*shader->code.spirv)[1]};
  }

  ShaderLibrary library_;
};

TEST_F(LibraryTest, NewNameIsNotCompiled) {
  const ShaderHandle lit = library_.Get("lit.frag");
  EXPECT_TRUE(lit);
  EXPECT_EQ(library_.Resolve(lit), nullptr);
  EXPECT_EQ(library_.Generation(lit), 0u);
  EXPECT_FALSE(library_.Own(lit));
}

TEST_F(LibraryTest, OneNameHasOneHandle) {
  const ShaderHandle lit = library_.Get("lit.frag");
  EXPECT_EQ(library_.Get("lit.frag"), lit);
  EXPECT_NE(library_.Get("engine/lit.frag"), lit);
  const ShaderOwner owner = Commit("lit.frag", 1);
  EXPECT_EQ(library_.Get("lit.frag"), lit);
}

TEST_F(LibraryTest, CommitReachesHandlesTakenBefore) {
  const ShaderHandle lit = library_.Get("lit.frag");
  const ShaderOwner owner = Commit("lit.frag", 1);
  EXPECT_EQ(Number(lit), 1);
  EXPECT_EQ(library_.Generation(lit), 1u);
}

TEST_F(LibraryTest, IdenticalBytecodeHasOneHandleUnderAnyName) {
  const ShaderOwner lit = Commit("lit.frag", 1);
  const ShaderOwner water = Commit("water.frag", 1);
  ASSERT_OK_AND_ASSIGN(const ShaderOwner nameless, library_.Commit(Code(1)));
  EXPECT_EQ(water.handle(), lit.handle());
  EXPECT_EQ(nameless.handle(), lit.handle());
  EXPECT_EQ(library_.Resolve(library_.Get("water.frag"))->module, lit.handle());
  EXPECT_NE(Commit("sky.frag", 2).handle(), lit.handle());
}

TEST_F(LibraryTest, IdenticalBytecodeIsKeptOnce) {
  const ShaderOwner lit = Commit("lit.frag", 1);
  ShaderCode again = Code(1);
  const std::weak_ptr<const std::vector<uint32_t>> copy = again.spirv;
  ASSERT_OK_AND_ASSIGN(const ShaderOwner water,
                       library_.Commit("water.frag", std::move(again)));
  EXPECT_TRUE(copy.expired());
  EXPECT_EQ(library_.counts(), (LibraryCounts{2, 1, 3 * sizeof(uint32_t)}));
}

TEST_F(LibraryTest, NamesThatShareAModulePartAtTheNextEdit) {
  const ShaderHandle lit = library_.Get("lit.frag");
  const ShaderHandle water = library_.Get("water.frag");
  ShaderOwner owner_of_lit = Commit("lit.frag", 1);
  const ShaderOwner owner_of_water = Commit("water.frag", 1);
  EXPECT_NE(lit, water);
  const uint64_t water_before = library_.PipelineHash(water);
  owner_of_lit = Commit("lit.frag", 2);
  library_.EndFrame();
  EXPECT_EQ(Number(lit), 2);
  EXPECT_EQ(library_.Generation(lit), 2u);
  EXPECT_EQ(Number(water), 1);
  EXPECT_EQ(library_.PipelineHash(water), water_before);
}

TEST_F(LibraryTest, RecommitOfTheSameBytecodeChangesNothing) {
  const ShaderOwner owner = Commit("lit.frag", 1);
  const ShaderHandle lit = library_.Get("lit.frag");
  const uint64_t hash = library_.PipelineHash(lit);
  const ResolvedShader* shader = library_.Resolve(lit);
  const ShaderOwner again = Commit("lit.frag", 1);
  EXPECT_EQ(library_.PipelineHash(lit), hash);
  EXPECT_EQ(library_.Resolve(lit), shader);
  EXPECT_EQ(library_.Generation(lit), 1u);
}

TEST_F(LibraryTest, GoingBackToBytecodeStillOwnedIsANewStateOfTheName) {
  const ShaderOwner first = Commit("lit.frag", 1);
  const ShaderHandle lit = library_.Get("lit.frag");
  std::set<uint64_t> hashes = {library_.PipelineHash(lit)};
  const ShaderOwner second = Commit("lit.frag", 2);
  EXPECT_TRUE(hashes.insert(library_.PipelineHash(lit)).second);
  const ShaderOwner third = Commit("lit.frag", 1);
  EXPECT_TRUE(hashes.insert(library_.PipelineHash(lit)).second);
  EXPECT_EQ(third.handle(), first.handle());
  EXPECT_EQ(library_.Generation(lit), 3u);
}

TEST_F(LibraryTest, GoingBackToBytecodeThatEndedGivesAnotherModule) {
  ShaderOwner owner = Commit("lit.frag", 1);
  const ShaderHandle lit = library_.Get("lit.frag");
  const ShaderHandle first = owner.handle();
  owner = Commit("lit.frag", 2);
  library_.EndFrame();
  owner = Commit("lit.frag", 1);
  EXPECT_NE(owner.handle(), first);
  EXPECT_EQ(library_.Resolve(first), nullptr);
  EXPECT_EQ(library_.Generation(lit), 3u);
  EXPECT_EQ(Number(lit), 1);
}

TEST_F(LibraryTest, HandlesKeepNothingAlive) {
  ShaderCode code = Code(1);
  const std::weak_ptr<const std::vector<uint32_t>> words = code.spirv;
  ASSERT_OK_AND_ASSIGN(ShaderOwner owner,
                       library_.Commit("lit.frag", std::move(code)));
  const ShaderHandle lit = library_.Get("lit.frag");
  const ShaderHandle module = owner.handle();
  ShaderLibrary::Release(std::move(owner));
  library_.EndFrame();
  EXPECT_TRUE(words.expired());
  EXPECT_EQ(library_.Resolve(lit), nullptr);
  EXPECT_EQ(library_.Resolve(module), nullptr);
  EXPECT_EQ(library_.counts(), LibraryCounts());
}

TEST_F(LibraryTest, ReleasedModuleResolvesUntilEndFrame) {
  ShaderOwner owner = Commit("lit.frag", 1);
  const ShaderHandle lit = library_.Get("lit.frag");
  const ShaderHandle module = owner.handle();
  ShaderLibrary::Release(std::move(owner));
  EXPECT_EQ(Number(lit), 1);
  EXPECT_EQ(Number(module), 1);
  library_.EndFrame();
  EXPECT_EQ(Number(lit), -1);
  EXPECT_EQ(Number(module), -1);
}

TEST_F(LibraryTest, WhatResolveGaveIsUnchangedByCommitsUntilEndFrame) {
  ShaderOwner owner = Commit("lit.frag", 1);
  const ResolvedShader* shader = library_.Resolve(library_.Get("lit.frag"));
  const uint64_t hash = shader->pipeline_hash();
  for (uint32_t number = 2; number < 200; ++number) {
    owner = Commit("lit.frag", number);
  }
  EXPECT_EQ((*shader->code.spirv)[1], 1u);
  EXPECT_EQ(shader->generation, 1u);
  EXPECT_EQ(shader->pipeline_hash(), hash);
}

TEST_F(LibraryTest, CommitBeforeEndFrameSavesAReleasedModule) {
  const ShaderHandle first = Commit("lit.frag", 1).handle();  // released
  const ShaderOwner owner = Commit("water.frag", 1);
  library_.EndFrame();
  EXPECT_EQ(owner.handle(), first);
  EXPECT_EQ(Number(library_.Get("lit.frag")), 1);
}

TEST_F(LibraryTest, OwnBeforeEndFrameSavesAReleasedModule) {
  const ShaderHandle module = Commit("lit.frag", 1).handle();  // released
  ShaderOwner owner = library_.Own(module);
  library_.EndFrame();
  EXPECT_EQ(Number(module), 1);
  owner = ShaderOwner();
  library_.EndFrame();
  EXPECT_EQ(Number(module), -1);
  EXPECT_FALSE(library_.Own(module));
}

TEST_F(LibraryTest, OwnOfANameOwnsTheModuleItStandsForNow) {
  ShaderOwner owner = Commit("lit.frag", 1);
  const ShaderOwner job = library_.Own(library_.Get("lit.frag"));
  EXPECT_EQ(job.handle(), owner.handle());
  owner = Commit("lit.frag", 2);
  library_.EndFrame();
  EXPECT_EQ((*job.shader()->code.spirv)[1], 1u);
  EXPECT_EQ(Number(job.handle()), 1);
}

TEST_F(LibraryTest, ModuleLivesUntilItsLastOwnerIsGone) {
  ShaderOwner first = Commit("lit.frag", 1);
  ShaderOwner second = Commit("lit.frag", 1);
  const ShaderHandle module = first.handle();
  first = ShaderOwner();
  library_.EndFrame();
  EXPECT_EQ(Number(module), 1);
  second = ShaderOwner();
  library_.EndFrame();
  EXPECT_EQ(Number(module), -1);
}

TEST_F(LibraryTest, NameEndsWithItsModuleAndStartsAfresh) {
  const ShaderHandle before = library_.Get("lit.frag");
  Commit("lit.frag", 1);  // released
  library_.EndFrame();
  EXPECT_EQ(library_.PipelineHash(before), 0u);
  const ShaderHandle after = library_.Get("lit.frag");
  EXPECT_NE(after, before);
  EXPECT_EQ(library_.Generation(after), 0u);
  const ShaderOwner owner = Commit("lit.frag", 1);
  EXPECT_EQ(Number(after), 1);
  EXPECT_EQ(library_.Generation(after), 1u);
  EXPECT_EQ(Number(before), -1);
}

TEST_F(LibraryTest, NameThatWasNeverCommittedOutlivesFrames) {
  const ShaderHandle lit = library_.Get("lit.frag");
  library_.EndFrame();
  library_.EndFrame();
  EXPECT_EQ(library_.Get("lit.frag"), lit);
  const ShaderOwner owner = Commit("lit.frag", 1);
  EXPECT_EQ(Number(lit), 1);
}

TEST_F(LibraryTest, NameThatMovedOnOutlivesItsFormerModule) {
  ShaderOwner owner = Commit("lit.frag", 1);
  const ShaderHandle lit = library_.Get("lit.frag");
  owner = Commit("lit.frag", 2);
  for (int frame = 0; frame < 3; ++frame) {
    library_.EndFrame();
    EXPECT_EQ(Number(lit), 2);
  }
}

TEST_F(LibraryTest, FormerModuleOutlivesTheEndOfTheName) {
  const ShaderOwner owner = Commit("lit.frag", 1);
  const ShaderHandle lit = library_.Get("lit.frag");
  Commit("lit.frag", 2);  // released
  library_.EndFrame();
  EXPECT_EQ(Number(lit), -1);
  EXPECT_EQ(Number(owner.handle()), 1);
}

TEST_F(LibraryTest, StaleHandleIsNullWhenItsSlotIsUsedAgain) {
  ShaderOwner owner = Commit("lit.frag", 1);
  const ShaderHandle lit = library_.Get("lit.frag");
  const ShaderHandle module = owner.handle();
  owner = ShaderOwner();
  library_.EndFrame();
  owner = Commit("water.frag", 2);
  const ShaderHandle water = library_.Get("water.frag");
  EXPECT_EQ((std::set<uint32_t>{water.slot, owner.handle().slot}),
            (std::set<uint32_t>{lit.slot, module.slot}));
  for (const ShaderHandle stale : {lit, module}) {
    EXPECT_EQ(library_.Resolve(stale), nullptr);
    EXPECT_EQ(library_.PipelineHash(stale), 0u);
    EXPECT_EQ(library_.Generation(stale), 0u);
    EXPECT_FALSE(library_.Own(stale));
  }
}

TEST_F(LibraryTest, PipelineHashIsIdAndGeneration) {
  const ShaderHandle lit = library_.Get("lit.frag");
  EXPECT_EQ(library_.PipelineHash(lit), uint64_t{lit.id} << 32);
  ShaderOwner owner = Commit("lit.frag", 1);
  EXPECT_EQ(library_.PipelineHash(lit), uint64_t{lit.id} << 32 | 1);
  EXPECT_EQ(library_.PipelineHash(owner.handle()),
            uint64_t{owner.handle().id} << 32 | 1);
  owner = Commit("lit.frag", 2);
  EXPECT_EQ(library_.PipelineHash(lit), uint64_t{lit.id} << 32 | 2);
  EXPECT_EQ(library_.Resolve(lit)->pipeline_hash(), library_.PipelineHash(lit));
}

TEST_F(LibraryTest, AnotherLibraryNeitherResolvesAHandleNorRepeatsAHash) {
  ShaderLibrary other;
  const ShaderOwner ours = Commit("lit.frag", 1);
  ASSERT_OK_AND_ASSIGN(const ShaderOwner theirs,
                       other.Commit("lit.frag", Code(1)));
  EXPECT_EQ(ours.handle().slot, theirs.handle().slot);
  EXPECT_EQ(library_.Resolve(theirs.handle()), nullptr);
  EXPECT_EQ(other.Resolve(ours.handle()), nullptr);
  EXPECT_FALSE(other.Own(ours.handle()));
  EXPECT_NE(other.PipelineHash(theirs.handle()),
            library_.PipelineHash(ours.handle()));
}

TEST_F(LibraryTest, HandleThatNobodyGaveIsNull) {
  const ShaderOwner owner = Commit("lit.frag", 1);
  const uint32_t most = ~uint32_t{0};
  const ShaderHandle slotless{most, owner.handle().id};
  const ShaderHandle unknown{owner.handle().slot, most};
  for (const ShaderHandle handle : {ShaderHandle(), slotless, unknown}) {
    EXPECT_EQ(library_.Resolve(handle), nullptr);
    EXPECT_EQ(library_.PipelineHash(handle), 0u);
    EXPECT_FALSE(library_.Own(handle));
  }
}

TEST_F(LibraryTest, HandlesStayGoodWhileThousandsAreAdded) {
  std::vector<ShaderHandle> handles;
  std::vector<ShaderOwner> owners;
  for (uint32_t number = 0; number < 3000; ++number) {
    const std::string name = std::to_string(number);
    handles.push_back(library_.Get(name));
    owners.push_back(Commit(name, number));
  }
  for (uint32_t number = 0; number < 3000; ++number) {
    ASSERT_EQ(Number(handles[number]), number);
    ASSERT_EQ(Number(owners[number].handle()), number);
  }
  owners.clear();
  library_.EndFrame();
  EXPECT_EQ(library_.counts(), LibraryCounts());
}

TEST_F(LibraryTest, EmptyNameIsRefused) {
  EXPECT_FALSE(library_.Get(""));
  EXPECT_THAT(library_.Commit("", Code(1)),
              StatusIs(absl::StatusCode::kInvalidArgument, "empty name"));
  EXPECT_EQ(library_.counts(), LibraryCounts());
}

TEST_F(LibraryTest, CommitWithoutWordsIsRefusedAndTheNameKeepsItsModule) {
  const ShaderOwner owner = Commit("lit.frag", 1);
  ShaderCode empty;
  EXPECT_THAT(library_.Commit("lit.frag", empty),
              StatusIs(absl::StatusCode::kInvalidArgument, "words"));
  empty.spirv = std::make_shared<const std::vector<uint32_t>>();
  EXPECT_THAT(library_.Commit("lit.frag", empty),
              StatusIs(absl::StatusCode::kInvalidArgument, "words"));
  EXPECT_EQ(Number(library_.Get("lit.frag")), 1);
}

TEST_F(LibraryTest, DigestOfOtherWordsIsRefusedAndTheNameKeepsItsModule) {
  const ShaderOwner owner = Commit("lit.frag", 1);
  const ShaderOwner water = Commit("water.frag", 2);
  ShaderCode liar = Code(3);
  liar.digest = Code(2).digest;
  EXPECT_THAT(library_.Commit("lit.frag", liar),
              StatusIs(absl::StatusCode::kInvalidArgument, "other words"));
  EXPECT_EQ(Number(library_.Get("lit.frag")), 1);
  EXPECT_EQ(library_.counts().modules, 2u);
}

TEST_F(LibraryTest, MissingDigestIsComputed) {
  const ShaderOwner owner = Commit("lit.frag", 1);
  ShaderCode code = Code(1);
  code.digest = Digest();
  ASSERT_OK_AND_ASSIGN(const ShaderOwner again, library_.Commit(code));
  EXPECT_EQ(again.handle(), owner.handle());
  EXPECT_EQ(again.shader()->code.digest, Code(1).digest);
}

TEST_F(LibraryTest, FirstInterfaceOfABytecodeIsKept) {
  ShaderCode code = Code(1);
  code.interface = std::make_shared<const ModuleInterface>();
  ASSERT_OK_AND_ASSIGN(const ShaderOwner first, library_.Commit("a", code));
  const ShaderOwner second = Commit("b", 1);  // brings none
  EXPECT_EQ(second.shader()->code.interface, code.interface);
  EXPECT_EQ(library_.Resolve(library_.Get("b"))->code.interface,
            code.interface);
}

TEST_F(LibraryTest, MovedOwnerCountsOnce) {
  ShaderOwner first = Commit("lit.frag", 1);
  const ShaderHandle lit = first.handle();
  ShaderOwner second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what is asked
  EXPECT_FALSE(first.handle());
  ShaderOwner& itself = second;
  second = std::move(itself);
  EXPECT_EQ(second.handle(), lit);
  library_.EndFrame();
  EXPECT_EQ(Number(lit), 1);
  second = Commit("water.frag", 2);
  library_.EndFrame();
  EXPECT_EQ(Number(lit), -1);
  EXPECT_EQ(Number(second.handle()), 2);
}

TEST(LibraryLifetimeTest, OwnerOutlivesItsLibrary) {
  ShaderCode code = Code(1);
  const std::weak_ptr<const std::vector<uint32_t>> words = code.spirv;
  ShaderOwner owner;
  {
    ShaderLibrary library;
    ASSERT_OK_AND_ASSIGN(owner, library.Commit("lit.frag", std::move(code)));
  }
  EXPECT_EQ((*owner.shader()->code.spirv)[1], 1u);
  owner = ShaderOwner();
  EXPECT_TRUE(words.expired());
}

}  // namespace
}  // namespace kiln::client
