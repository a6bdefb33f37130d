// SPDX-License-Identifier: Apache-2.0

// A shader library as an engine uses it: threads that record resolve while a
// loader commits, a job owns, and the frame's thread ends frames. Says most
// under the thread and address sanitizers.

#include <array>
#include <atomic>
#include <barrier>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/library.h"
#include "proto/bytes.h"

namespace kiln::client {
namespace {

constexpr uint32_t kNames = 5;
constexpr int kFrames = 100;
constexpr uint32_t kRecorders = 2;
constexpr uint32_t kLooks = 100;  // of a recorder, each frame
constexpr uint32_t kNameless = ~uint32_t{0};

// Words that say for whom they are, many times over.
ShaderCode Code(uint32_t name, uint32_t version) {
  std::vector<uint32_t> words;
  for (int i = 0; i < 50; ++i) {
    words.insert(words.end(), {name, version});
  }
  ShaderCode code;
  code.spirv = std::make_shared<const std::vector<uint32_t>>(std::move(words));
  return code;
}

uint32_t NameIn(const ResolvedShader& shader) {
  return shader.code.spirv->front();
}

uint32_t VersionIn(const ResolvedShader& shader) {
  return shader.code.spirv->back();
}

// All words and the digest are of one commit.
bool IsWhole(const ResolvedShader& shader) {
  const std::vector<uint32_t>& words = *shader.code.spirv;
  for (size_t i = 0; i < words.size(); i += 2) {
    if (words[i] != NameIn(shader) || words[i + 1] != VersionIn(shader)) {
      return false;
    }
  }
  return Digest::Of(AsBytes(std::span<const uint32_t>(words))) ==
         shader.code.digest;
}

// Modules without a name, each owned only until it is listed here: most of
// these handles are stale, and their slots are used again.
class ShortLived {
 public:
  void Add(ShaderHandle handle, uint32_t version) {
    absl::MutexLock lock(&mutex_);
    list_.push_back({handle, version});
  }

  struct Item {
    ShaderHandle handle;
    uint32_t version = 0;
  };

  // Returns: a null handle when there are none yet.
  Item Any(std::mt19937& random) const {
    absl::MutexLock lock(&mutex_);
    return list_.empty() ? Item() : list_[random() % list_.size()];
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<Item> list_ ABSL_GUARDED_BY(mutex_);
};

class LibraryThreadsTest : public ::testing::Test {
 protected:
  LibraryThreadsTest() {
    for (uint32_t name = 0; name < kNames; ++name) {
      names_[name] = library_.Get(std::to_string(name));
    }
  }

  // Commits version after version of every name, for kFrames. A name's
  // generation is then its version.
  void Load() {
    std::array<ShaderOwner, kNames> owners;
    while (frames_ < kFrames) {
      const uint32_t version = ++version_;
      for (uint32_t name = 0; name < kNames; ++name) {
        owners[name] =
            library_.Commit(std::to_string(name), Code(name, version)).value();
        ShaderLibrary::Release(  // no new version: nothing may change
            library_.Commit(std::to_string(name), Code(name, version)).value());
      }
      const ShaderOwner nameless =
          library_.Commit(Code(kNameless, version)).value();
      short_lived_.Add(nameless.handle(), version);
    }
    loaded_ = true;
    all_seen_.arrive_and_wait();  // until here, names have their owners
  }

  // Owns what names stand for across frames, and lets go again.
  void Job() {
    std::mt19937 random(3);
    std::array<ShaderOwner, 8> owners;
    while (!loaded_) {
      const uint32_t name = random() % kNames;
      ShaderOwner& owner = owners[random() % owners.size()];
      if (owner && !IsWhole(*owner.shader())) {
        ++torn_;
      }
      owner = library_.Own(names_[name]);
      if (owner && NameIn(*owner.shader()) != name) {
        ++wrong_;
      }
    }
  }

  // Looks at a name, as a draw does.
  void LookAtName(uint32_t name, uint32_t& last_generation) {
    const auto before =
        static_cast<uint32_t>(library_.PipelineHash(names_[name]));
    const ResolvedShader* shader = library_.Resolve(names_[name]);
    if (shader == nullptr) {
      wrong_ += before != 0 ? 1 : 0;
      return;
    }
    if (NameIn(*shader) != name || shader->id != names_[name].id) {
      ++wrong_;
    }
    if (shader->generation != VersionIn(*shader) || !IsWhole(*shader)) {
      ++torn_;
    }
    if (shader->generation < before || shader->generation < last_generation) {
      ++backwards_;
    }
    last_generation = shader->generation;
    ++looks_;
  }

  void LookAtShortLived(std::mt19937& random) {
    const ShortLived::Item item = short_lived_.Any(random);
    const ResolvedShader* shader = library_.Resolve(item.handle);
    if (shader != nullptr &&
        (NameIn(*shader) != kNameless || VersionIn(*shader) != item.version ||
         shader->module != item.handle)) {
      ++wrong_;
    }
  }

  void Record(uint32_t seed) {
    std::mt19937 random(seed);
    std::array<uint32_t, kNames> last_generations{};
    while (true) {
      frames_started_.arrive_and_wait();
      if (over_) {
        return;
      }
      for (uint32_t look = 0; look < kLooks; ++look) {
        const uint32_t name = random() % kNames;
        LookAtName(name, last_generations[name]);
        LookAtShortLived(random);
      }
      frames_recorded_.arrive_and_wait();
    }
  }

  // Frames until the loader is through.
  void RunFrames() {
    while (!over_) {
      frames_started_.arrive_and_wait();
      frames_recorded_.arrive_and_wait();
      library_.EndFrame();
      ++frames_;
      over_ = loaded_;
    }
    frames_started_.arrive_and_wait();
  }

  ShaderLibrary library_;
  std::array<ShaderHandle, kNames> names_;
  ShortLived short_lived_;

  std::atomic<uint32_t> version_{0};  // the last committed
  std::atomic<int> frames_{0};
  std::atomic<bool> loaded_{false};
  bool over_ = false;  // written between frames, read in them
  std::barrier<> frames_started_{kRecorders + 1};
  std::barrier<> frames_recorded_{kRecorders + 1};
  std::barrier<> all_seen_{2};  // the loader and the frame's thread, at the end

  std::atomic<int> torn_{0};       // parts of two commits
  std::atomic<int> backwards_{0};  // an older generation after a newer one
  std::atomic<int> wrong_{0};      // of another handle
  std::atomic<int> looks_{0};
};

TEST_F(LibraryThreadsTest, RecordingThreadsSeeWholeCommitsInOrder) {
  std::vector<std::thread> threads;
  for (uint32_t recorder = 0; recorder < kRecorders; ++recorder) {
    threads.emplace_back([this, recorder] { Record(recorder + 1); });
  }
  threads.emplace_back([this] { Job(); });
  threads.emplace_back([this] { Load(); });
  RunFrames();
  for (uint32_t name = 0; name < kNames; ++name) {
    EXPECT_EQ(library_.Generation(names_[name]), version_);
  }
  all_seen_.arrive_and_wait();
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(torn_, 0);
  EXPECT_EQ(backwards_, 0);
  EXPECT_EQ(wrong_, 0);
  EXPECT_GT(looks_, 0);
  RecordProperty("versions", static_cast<int>(version_));
  RecordProperty("looks", looks_);
  library_.EndFrame();
  EXPECT_EQ(library_.counts(), LibraryCounts());
}

}  // namespace
}  // namespace kiln::client
