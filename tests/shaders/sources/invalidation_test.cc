// SPDX-License-Identifier: Apache-2.0

// What an edit makes stale, and what it does not (SPEC section 3).

#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/sources/snapshot.h"
#include "shaders/sources/source_hash.h"
#include "shaders/sources/source_set.h"
#include "tests/shaders/sources/source_tree.h"
#include "tests/support/small_program.h"

namespace kiln::sources {
namespace {

namespace fs = std::filesystem;

// A recipe of one fragment shader.
Program RecipeOf(const std::string& path) {
  Program recipe = testing::SmallProgram();
  recipe.rooted = true;
  recipe.stages = {{Stage::kFragment, path}};
  recipe.files.clear();
  recipe.derivation.clear();
  return recipe;
}

Digest HashOf(SourceTree& tree, const std::string& path) {
  const Program recipe = RecipeOf(path);
  const auto set = ResolveSources(tree.roots, tree.cache, EntriesOf(recipe));
  EXPECT_OK(set);
  const auto snapshot = MakeSnapshot(recipe, *set);
  EXPECT_OK(snapshot);
  return SourceSetHash(*snapshot, snapshot->stages[0]);
}

// Many shaders in three roots; headers include later headers only. The test's
// own model of who includes whom is `includes`, by id.
class Forest {
 public:
  static constexpr int kShaders = 200;
  static constexpr int kHeaders = 40;

  Forest() {
    std::mt19937 random(7);
    for (int i = kHeaders; i-- > 0;) {
      std::set<int> included;
      for (uint32_t n = random() % 4; n > 0 && i + 1 < kHeaders; --n) {
        included.insert(i + 1 +
                        static_cast<int>(random() % (kHeaders - i - 1)));
      }
      Make(Header(i), included);
    }
    for (int i = 0; i < kShaders; ++i) {
      std::set<int> included;
      for (uint32_t n = random() % 4; n > 0; --n) {
        included.insert(static_cast<int>(random() % kHeaders));
      }
      shaders.push_back(fmt::format("{}/s{}.frag", Root(i), i));
      Make(shaders.back(), included);
    }
  }

  static std::string Root(int i) {
    constexpr const char* kRoots[] = {"engine", "plugin", "project"};
    return kRoots[i % 3];
  }

  static std::string Header(int i) {
    return fmt::format("{}/lib/h{}.glsl", Root(i), i);
  }

  // The shaders that include `id`, directly or not; by the model alone.
  std::set<std::string> DependentsOf(const std::string& id) const {
    std::set<std::string> dependents;
    for (const std::string& shader : shaders) {
      std::vector<std::string> open = {shader};
      std::set<std::string> reached;
      while (!open.empty()) {
        const std::string file = open.back();
        open.pop_back();
        if (!reached.insert(file).second) {
          continue;
        }
        for (const std::string& next : includes.at(file)) {
          open.push_back(next);
        }
      }
      if (reached.contains(id)) {
        dependents.insert(shader);
      }
    }
    return dependents;
  }

  SourceTree tree;
  std::vector<std::string> shaders;  // ids
  std::map<std::string, std::vector<std::string>> includes;

 private:
  void Make(const std::string& id, const std::set<int>& included) {
    std::string text = fmt::format("// {}\n", id);
    includes[id];
    for (const int header : included) {
      text += header % 2 == 0
                  ? fmt::format("#include <lib/h{}.glsl>\n", header)
                  : fmt::format("#if {0}\n#include \"/{1}\"\n#endif\n",
                                header % 3, Header(header));
      includes[id].push_back(Header(header));
    }
    tree.Write(id, text);
  }
};

struct Made {
  SourceSet set;
  Program snapshot;
  Digest id;
  Digest hash;
};

std::map<std::string, Made> MakeAll(Forest& forest) {
  std::map<std::string, Made> all;
  RootView view(forest.tree.roots, forest.tree.cache);
  for (const std::string& shader : forest.shaders) {
    const Program recipe = RecipeOf("/" + shader);
    auto set = ResolveSources(view, EntriesOf(recipe));
    EXPECT_OK(set);
    auto snapshot = MakeSnapshot(recipe, *set);
    EXPECT_OK(snapshot);
    const Digest id = Digest::Of(EncodeProgram(*snapshot));
    const Digest hash = SourceSetHash(*snapshot, snapshot->stages[0]);
    all[shader] = {*std::move(set), *std::move(snapshot), id, hash};
  }
  return all;
}

// The shaders whose sets are stale in `before`, and whose hash and snapshot
// differ from those of `after`: three ways to say the same.
std::set<std::string> Changed(Forest& forest,
                              const std::map<std::string, Made>& before) {
  std::set<std::string> stale;
  RootView view(forest.tree.roots, forest.tree.cache);
  for (const auto& [shader, made] : before) {
    if (!IsCurrent(made.set, view)) {
      stale.insert(shader);
    }
  }
  for (const auto& [shader, made] : MakeAll(forest)) {
    const Made& old = before.at(shader);
    EXPECT_EQ(made.hash != old.hash, stale.contains(shader)) << shader;
    EXPECT_EQ(made.id != old.id, stale.contains(shader)) << shader;
    EXPECT_EQ(made.set.SameSources(old.set), !stale.contains(shader));
  }
  return stale;
}

TEST(InvalidationTest, HeaderOfTwoHundredShadersChangesItsDependentsOnly) {
  Forest forest;
  const auto before = MakeAll(forest);
  EXPECT_TRUE(Changed(forest, before).empty());
  size_t fewest = Forest::kShaders;
  size_t most = 0;
  for (int i = 0; i < Forest::kHeaders; i += 4) {
    const std::string header = Forest::Header(i);
    const std::set<std::string> dependents = forest.DependentsOf(header);
    fewest = std::min(fewest, dependents.size());
    most = std::max(most, dependents.size());
    if (dependents.empty()) {
      continue;
    }
    const std::string old_text =
        before.at(*dependents.begin()).snapshot.FindFile(header)->text;
    forest.tree.Write(header, old_text + "// edited\n");
    EXPECT_EQ(Changed(forest, before), dependents) << header;
    forest.tree.Write(header, old_text);  // the old hashes are back
    EXPECT_TRUE(Changed(forest, before).empty()) << header;
  }
  EXPECT_LT(fewest, most) << "all headers would be alike";
  EXPECT_LT(most, size_t{Forest::kShaders});
}

TEST(InvalidationTest, FileEarlierInTheOrderChangesWhoSearchedForItsName) {
  Forest forest;
  // Searched by its plain name, and found in the last root.
  int header = 2;
  while (Forest::Root(header) != "project" || header % 2 != 0) {
    ++header;
  }
  const std::string id = Forest::Header(header);
  const std::set<std::string> dependents = forest.DependentsOf(id);
  ASSERT_FALSE(dependents.empty());
  const auto before = MakeAll(forest);
  const std::string name = fmt::format("lib/h{}.glsl", header);
  forest.tree.Write("plugin/" + name, "// another\n");
  EXPECT_EQ(Changed(forest, before), dependents);
  forest.tree.Remove("plugin/" + name);
  EXPECT_TRUE(Changed(forest, before).empty());
  // Later in the order, or reached by its full path: nobody changes.
  int full = 1;
  while (Forest::Root(full) != "project" || full % 2 == 0) {
    ++full;
  }
  forest.tree.Write(fmt::format("engine/lib/h{}.glsl", full), "// hides\n");
  EXPECT_TRUE(Changed(forest, before).empty());
}

TEST(InvalidationTest, RootsThatHoldNothingAskedForChangeNothing) {
  Forest forest;
  forest.tree.Write("project/optional.frag",
                    "#if 0\n#include <nowhere.glsl>\n#endif\n");
  forest.shaders.push_back("project/optional.frag");
  const auto before = MakeAll(forest);
  fs::create_directories(forest.tree.folder / "extra");
  ASSERT_OK(forest.tree.roots.Add("first",
                                  (forest.tree.folder / "extra").string(), 0));
  ASSERT_OK(forest.tree.roots.Add("last", "/nowhere/at/all"));
  forest.tree.Write("extra/unrelated.glsl", "");
  EXPECT_TRUE(Changed(forest, before).empty());
  forest.tree.Write("extra/nowhere.glsl", "");
  EXPECT_EQ(Changed(forest, before),
            std::set<std::string>{"project/optional.frag"});
  ASSERT_OK(forest.tree.roots.Remove("first"));
  EXPECT_TRUE(Changed(forest, before).empty());
}

TEST(InvalidationTest, NameThatAppearsChangesWhoLookedForIt) {
  SourceTree tree;
  tree.Write("engine/a.frag", "#if 0\n#include \"later.glsl\"\n#endif\n");
  tree.Write("engine/b.frag", "\n");
  ASSERT_OK_AND_ASSIGN(const SourceSet a, tree.Resolve("a.frag"));
  ASSERT_OK_AND_ASSIGN(const SourceSet b, tree.Resolve("b.frag"));
  tree.Write("project/later.glsl", "");
  EXPECT_FALSE(tree.Current(a));
  EXPECT_TRUE(tree.Current(b));
  tree.Remove("project/later.glsl");
  EXPECT_TRUE(tree.Current(a));
  // Something that cannot be opened is a change, too: it ends the search.
  fs::create_directories(tree.folder / "plugin/later.glsl");
  EXPECT_FALSE(tree.Current(a));
}

TEST(InvalidationTest, RootReplacedByRenamingIsNoticed) {
  SourceTree tree;
  tree.Write("engine/a.frag", "// one\n");
  tree.Write("other/a.frag", "// two\n");
  ASSERT_OK_AND_ASSIGN(const SourceSet set, tree.Resolve("a.frag"));
  fs::rename(tree.folder / "engine", tree.folder / "old");
  EXPECT_FALSE(tree.Current(set)) << "gone";
  fs::rename(tree.folder / "other", tree.folder / "engine");
  EXPECT_FALSE(tree.Current(set)) << "another";
  fs::rename(tree.folder / "engine", tree.folder / "other");
  fs::rename(tree.folder / "old", tree.folder / "engine");
  EXPECT_TRUE(tree.Current(set)) << "back";
}

TEST(InvalidationTest, EntryThatIsDeletedOrMovedAheadIsStale) {
  SourceTree tree;
  tree.Write("project/a.frag", "// text\n");
  ASSERT_OK_AND_ASSIGN(const SourceSet set, tree.Resolve("a.frag"));
  tree.Write("engine/a.frag", "// text\n");
  EXPECT_FALSE(tree.Current(set)) << "another file, if of equal text";
  tree.Remove("engine/a.frag");
  EXPECT_TRUE(tree.Current(set));
  tree.Remove("project/a.frag");
  EXPECT_FALSE(tree.Current(set));
}

// The warm check of a thousand shaders: no compile, no read.
TEST(InvalidationTest, WarmCheckOfAThousandShadersReadsOnlyWhatChanged) {
  SourceTree tree;
  std::vector<SourceSet> sets;
  for (int i = 0; i < 20; ++i) {
    tree.Write(fmt::format("engine/lib/h{}.glsl", i),
               fmt::format("// h{}\n", i));
  }
  for (int i = 0; i < 1000; ++i) {
    tree.Write(fmt::format("project/s{}.frag", i),
               fmt::format("#include <lib/h{}.glsl>\n#include "
                           "<lib/h{}.glsl>\n// s{}\n",
                           i % 20, (i * 7 + 3) % 20, i));
  }
  for (int i = 0; i < 1000; ++i) {
    ASSERT_OK_AND_ASSIGN(sets.emplace_back(),
                         tree.Resolve(fmt::format("s{}.frag", i)));
  }
  EXPECT_EQ(tree.Counted().reads, 1020u);
  auto current = [&] {
    RootView view(tree.roots, tree.cache);
    return std::ranges::count_if(
        sets, [&](const SourceSet& set) { return IsCurrent(set, view); });
  };
  EXPECT_EQ(current(), 1000);
  SourceCache::Counters counted = tree.Counted();
  EXPECT_EQ(counted.reads, 0u);
  // Each place once: 1,000 entries in three roots, 20 headers in the first.
  EXPECT_EQ(counted.stats, 3020u);

  tree.Touch("engine/lib/h7.glsl");
  EXPECT_EQ(current(), 1000);
  EXPECT_EQ(tree.Counted().reads, 1u);
  EXPECT_EQ(current(), 1000);
  EXPECT_EQ(tree.Counted().reads, 0u);
  // Without a shared view it costs more stats, and no more reads.
  EXPECT_TRUE(std::ranges::all_of(
      sets, [&](const SourceSet& set) { return tree.Current(set); }));
  counted = tree.Counted();
  EXPECT_EQ(counted.reads, 0u);
  EXPECT_GT(counted.stats, 3020u);

  tree.Write("engine/lib/h7.glsl", "// edited\n");
  int64_t dependents = 0;
  for (int i = 0; i < 1000; ++i) {
    dependents += i % 20 == 7 || (i * 7 + 3) % 20 == 7 ? 1 : 0;
  }
  EXPECT_EQ(current(), 1000 - dependents);
  EXPECT_EQ(tree.Counted().reads, 1u);
}

// KNOWN_FAULTS 11, step by step as its case says.
TEST(InvalidationTest, IncludeSetThatDependsOnMacrosIsNeverStale) {
  SourceTree tree({"first", "second"});
  tree.Write("second/main.frag",
             "#version 450\n#ifdef SHADOWS\n#include \"shadow.glsl\"\n#endif\n"
             "#if FEATURES > 2\n#include <extra.glsl>\n#endif\n");
  tree.Write("second/extra.glsl", "// e\n");
  // 1 to 3: an include that was not taken, and did not exist, is created.
  const Digest without = HashOf(tree, "main.frag");
  tree.Write("second/shadow.glsl", "// s\n");
  const Digest with = HashOf(tree, "main.frag");
  EXPECT_NE(with, without);
  tree.Write("second/shadow.glsl", "// s2\n");
  EXPECT_NE(HashOf(tree, "main.frag"), with);
  tree.Write("second/shadow.glsl", "// s\n");
  ASSERT_OK_AND_ASSIGN(const SourceSet set, tree.Resolve("main.frag"));
  // 4: a file of the name earlier on the path, which a quoted name beside its
  // includer does not search and a name in <> does.
  tree.Write("first/shadow.glsl", "// s\n");
  EXPECT_TRUE(tree.Current(set));
  EXPECT_EQ(HashOf(tree, "main.frag"), with);
  tree.Write("first/extra.glsl", "// e\n");
  EXPECT_FALSE(tree.Current(set)) << "another file, if of equal text";
  EXPECT_NE(HashOf(tree, "main.frag"), with);
  tree.Remove("first/extra.glsl");
  EXPECT_TRUE(tree.Current(set));
  // 5: only the time changes.
  tree.Touch("second/shadow.glsl");
  EXPECT_TRUE(tree.Current(set));
  EXPECT_EQ(HashOf(tree, "main.frag"), with);
  // 6: other text, then the old text with a new time.
  tree.Write("second/shadow.glsl", "// s3\n");
  EXPECT_FALSE(tree.Current(set));
  tree.Write("second/shadow.glsl", "// s\n");
  EXPECT_TRUE(tree.Current(set));
  EXPECT_EQ(HashOf(tree, "main.frag"), with);
}

}  // namespace
}  // namespace kiln::sources
