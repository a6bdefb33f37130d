// SPDX-License-Identifier: Apache-2.0

// Random operations on a shader library, and on a model of it that is as plain
// as the rules of client/library.h. After each, all that can be seen of the
// library must be what the model says.

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "client/library.h"
#include "tests/support/status_matchers.h"

namespace kiln::client {
namespace {

// Something that has a handle: a name, or a module, from when it begins until
// it ends. The next of the same name is another.
using Life = int;
constexpr Life kNone = -1;

struct ModelModule {
  Life life = kNone;
  int owners = 0;
};

struct ModelName {
  Life life = kNone;
  uint32_t generation = 0;
  std::string content;  // empty: not compiled
};

// What a handle of a life should show.
struct View {
  uint32_t generation = 0;
  std::string content;
  Life module = kNone;
};

struct Model {
  std::map<std::string, ModelModule> modules;  // by content
  std::map<std::string, ModelName> names;
  Life lives = 0;

  Life Get(const std::string& name) {
    if (names.count(name) == 0) {
      names[name].life = lives++;
    }
    return names[name].life;
  }

  Life Commit(const std::string& content) {
    if (modules.count(content) == 0) {
      modules[content].life = lives++;
    }
    ++modules[content].owners;
    return modules[content].life;
  }

  Life Commit(const std::string& name, const std::string& content) {
    const Life module = Commit(content);
    Get(name);
    if (names[name].content != content) {
      names[name].content = content;
      ++names[name].generation;
    }
    return module;
  }

  void EndFrame() {
    std::map<std::string, ModelModule> kept;
    for (const auto& [content, module] : modules) {
      if (module.owners > 0) {
        kept[content] = module;
      }
    }
    modules = kept;
    std::map<std::string, ModelName> named;
    for (const auto& [name, entry] : names) {
      if (entry.content.empty() || modules.count(entry.content) > 0) {
        named[name] = entry;
      }
    }
    names = named;
  }

  // Everything that lives.
  std::map<Life, View> Views() const {
    std::map<Life, View> views;
    for (const auto& [content, module] : modules) {
      views[module.life] = {1, content, module.life};
    }
    for (const auto& [name, entry] : names) {
      views[entry.life] = {entry.generation, entry.content, kNone};
      if (!entry.content.empty()) {
        views[entry.life].module = modules.at(entry.content).life;
      }
    }
    return views;
  }
};

// Hashes of all runs, and what each stood for: none may come back.
std::map<uint64_t, std::string>& HashesSeen() {
  static std::map<uint64_t, std::string> seen;
  return seen;
}

// One run. Every failure is told with the seed and the operations before it.
class RandomRun {
 public:
  explicit RandomRun(uint32_t seed) : seed_(seed), random_(seed) {}

  void Step() {
    const uint32_t what = Pick(100);
    if (what < 15) {
      Get();
    } else if (what < 45) {
      Commit();
    } else if (what < 55) {
      CommitNameless();
    } else if (what < 65) {
      Own();
    } else if (what < 90) {
      Release();
    } else {
      log_ += " EndFrame";
      library_.EndFrame();
      model_.EndFrame();
    }
    Check();
  }

  const std::string& log() const { return log_; }

 private:
  struct Owned {
    ShaderOwner owner;
    std::string content;
  };

  uint32_t Pick(uint32_t count) { return random_() % count; }

  std::string SomeName() { return "name " + std::to_string(Pick(7)); }

  std::string SomeContent() { return std::to_string(100 + Pick(9)); }

  static ShaderCode CodeOf(const std::string& content) {
    ShaderCode code;
    code.spirv = std::make_shared<const std::vector<uint32_t>>(content.begin(),
                                                               content.end());
    return code;
  }

  // Takes note that the library gave `handle` for `life`: always the same one.
  void Gave(ShaderHandle handle, Life life) {
    ASSERT_TRUE(handle);
    const auto [known, added] = handles_.emplace(life, handle);
    ASSERT_EQ(handle, known->second) << "life " << life;
    if (added) {
      ASSERT_TRUE(lives_.emplace(handle, life).second) << "handle given twice";
    }
  }

  void Get() {
    const std::string name = SomeName();
    log_ += " Get(" + name + ")";
    Gave(library_.Get(name), model_.Get(name));
  }

  void Commit() {
    const std::string name = SomeName();
    const std::string content = SomeContent();
    log_ += " Commit(" + name + ", " + content + ")";
    ASSERT_OK_AND_ASSIGN(ShaderOwner owner,
                         library_.Commit(name, CodeOf(content)));
    Gave(owner.handle(), model_.Commit(name, content));
    Gave(library_.Get(name), model_.Get(name));
    Keep(std::move(owner), content);
  }

  void CommitNameless() {
    const std::string content = SomeContent();
    log_ += " Commit(" + content + ")";
    ASSERT_OK_AND_ASSIGN(ShaderOwner owner, library_.Commit(CodeOf(content)));
    Gave(owner.handle(), model_.Commit(content));
    Keep(std::move(owner), content);
  }

  // Of anything that ever had a handle.
  void Own() {
    if (handles_.empty()) {
      return;
    }
    const Life life = static_cast<Life>(Pick(handles_.size()));
    log_ += " Own(" + std::to_string(life) + ")";
    const std::map<Life, View> views = model_.Views();
    const auto view = views.find(life);
    ShaderOwner owner = library_.Own(handles_.at(life));
    ASSERT_EQ(static_cast<bool>(owner),
              view != views.end() && !view->second.content.empty());
    if (owner) {
      ++model_.modules.at(view->second.content).owners;
      Gave(owner.handle(), view->second.module);
      Keep(std::move(owner), view->second.content);
    }
  }

  // Half of the time in place of an owner held already, which releases it.
  void Keep(ShaderOwner owner, const std::string& content) {
    if (!owned_.empty() && Pick(2) == 0) {
      Owned& place = owned_[Pick(owned_.size())];
      --model_.modules.at(place.content).owners;
      place = {std::move(owner), content};
    } else {
      owned_.push_back({std::move(owner), content});
    }
  }

  void Release() {
    if (owned_.empty()) {
      return;
    }
    std::swap(owned_[Pick(owned_.size())], owned_.back());
    log_ += " Release(" + owned_.back().content + ")";
    --model_.modules.at(owned_.back().content).owners;
    ShaderLibrary::Release(std::move(owned_.back().owner));
    owned_.pop_back();
  }

  void Check() {
    const std::map<Life, View> views = model_.Views();
    for (const auto& [life, handle] : handles_) {
      const auto view = views.find(life);
      ASSERT_NO_FATAL_FAILURE(CheckHandle(
          life, handle,
          view == views.end() ? std::nullopt : std::optional(view->second)));
    }
    for (const Owned& owned : owned_) {
      ASSERT_EQ(*owned.owner.shader()->code.spirv,
                *CodeOf(owned.content).spirv);
    }
    size_t bytes = 0;
    for (const auto& [content, module] : model_.modules) {
      bytes += content.size() * sizeof(uint32_t);
    }
    ASSERT_EQ(library_.counts(), (LibraryCounts{model_.names.size(),
                                                model_.modules.size(), bytes}));
  }

  // `view`: what the model says; none: it has ended.
  void CheckHandle(Life life, ShaderHandle handle,
                   const std::optional<View>& view) {
    const ResolvedShader* shader = library_.Resolve(handle);
    const uint64_t hash = library_.PipelineHash(handle);
    ASSERT_EQ(library_.Generation(handle), view ? view->generation : 0u)
        << "life " << life;
    ASSERT_EQ(hash != 0, view.has_value()) << "life " << life;
    ASSERT_EQ(shader != nullptr, view && !view->content.empty())
        << "life " << life;
    if (view) {
      const std::string state = std::to_string(seed_) + " life " +
                                std::to_string(life) + " " + view->content;
      ASSERT_EQ(HashesSeen().emplace(hash, state).first->second, state);
    }
    if (shader != nullptr) {
      ASSERT_EQ(shader->pipeline_hash(), hash);
      ASSERT_EQ(shader->generation, view->generation);
      ASSERT_EQ(lives_.at(shader->module), view->module);
      ASSERT_EQ(*shader->code.spirv, *CodeOf(view->content).spirv);
    }
  }

  const uint32_t seed_;
  std::mt19937 random_;
  std::string log_;
  ShaderLibrary library_;
  Model model_;
  std::map<Life, ShaderHandle> handles_;  // all ever given, lives 0, 1, 2..
  std::map<ShaderHandle, Life> lives_;
  std::vector<Owned> owned_;
};

class LibraryModelTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(LibraryModelTest, LibraryDoesWhatThePlainModelDoes) {
  RandomRun run(GetParam());
  for (int step = 0; step < 1500; ++step) {
    run.Step();
    ASSERT_FALSE(HasFailure())
        << "seed " << GetParam() << ", step " << step << ":" << run.log();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LibraryModelTest, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace kiln::client
