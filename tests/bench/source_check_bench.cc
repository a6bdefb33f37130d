// SPDX-License-Identifier: Apache-2.0

// The warm check (shaders/sources/source_set.h): are 1,000 shaders still what
// their sources say? Nobody edited anything, which is what happens at every
// start of an editor. Beside it the plainest alternative, reading and hashing
// every file again. The page cache is warm for both.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "proto/bytes.h"
#include "proto/digest.h"
#include "shaders/sources/source_set.h"
#include "tests/support/temp_dir.h"

namespace kiln::sources {
namespace {

constexpr int kShaders = 1000;
constexpr int kHeaders = 60;
constexpr size_t kFileBytes = 6000;

// As an engine has them: two roots of headers, one of shaders; each shader
// includes five headers, some of which include others.
class Project {
 public:
  Project() {
    for (const char* name : {"engine", "plugin", "project"}) {
      std::filesystem::create_directories(folder_ / name / "lib");
      Check(roots.Add(name, (folder_ / name).string()).ok());
    }
    for (int i = 0; i < kHeaders; ++i) {
      const int next = i + 7;
      Write(HeaderPath(i), next < kHeaders
                               ? fmt::format("#include <lib/h{}.glsl>\n", next)
                               : "");
    }
    for (int i = 0; i < kShaders; ++i) {
      std::string text = "#version 450\n";
      for (int j = 0; j < 5; ++j) {
        text += fmt::format("#include <lib/h{}.glsl>\n",
                            (i * 13 + j * 11) % kHeaders);
      }
      Write(fmt::format("project/s{}.frag", i), text);
    }
    // Past the racy window, so that each file is read once.
    SourceCacheOptions options;
    options.now = [] {
      return std::chrono::system_clock::now().time_since_epoch() +
             std::chrono::hours(1);
    };
    cache = std::make_unique<SourceCache>(std::move(options));
    RootView view(roots, *cache);
    for (int i = 0; i < kShaders; ++i) {
      const SourceEntry entries[] = {{fmt::format("s{}.frag", i)}};
      auto set = ResolveSources(view, entries);
      Check(set.ok());
      sets.push_back(*std::move(set));
    }
  }

  // The file on disk of an id.
  std::filesystem::path PathOf(const std::string& id) const {
    return folder_ / id;
  }

  static void Check(bool ok) {
    if (!ok) {
      std::abort();
    }
  }

  SearchRoots roots;
  std::unique_ptr<SourceCache> cache;
  std::vector<SourceSet> sets;

 private:
  static std::string HeaderPath(int i) {
    return fmt::format("{}/lib/h{}.glsl", i % 2 == 0 ? "engine" : "plugin", i);
  }

  void Write(const std::string& id, std::string text) {
    while (text.size() < kFileBytes) {
      text += fmt::format("float v{} = {}.0; // {}\n", text.size(), text.size(),
                          id);
    }
    std::ofstream(folder_ / id, std::ios::binary) << text;
  }

  testing::TempDir folder_;
};

Project& TheProject() {
  static Project project;
  return project;
}

Digest HashFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  Project::Check(!bytes.empty());
  return Digest::Of(AsBytes(bytes));
}

// All shaders in one pass, as after a start or a burst of file events.
void BM_WarmCheck(benchmark::State& state) {
  Project& project = TheProject();
  const SourceCache::Counters before = project.cache->counters();
  for (auto _ : state) {
    RootView view(project.roots, *project.cache);
    for (const SourceSet& set : project.sets) {
      Project::Check(IsCurrent(set, view));
    }
  }
  const SourceCache::Counters after = project.cache->counters();
  state.SetItemsProcessed(state.iterations() * kShaders);
  state.counters["stats"] =
      benchmark::Counter(static_cast<double>(after.stats - before.stats),
                         benchmark::Counter::kAvgIterations);
  state.counters["reads"] = static_cast<double>(after.reads - before.reads);
}

// The same, shader by shader: each looks at all of its files.
void BM_WarmCheckOneByOne(benchmark::State& state) {
  Project& project = TheProject();
  for (auto _ : state) {
    for (const SourceSet& set : project.sets) {
      Project::Check(IsCurrent(set, project.roots, *project.cache));
    }
  }
  state.SetItemsProcessed(state.iterations() * kShaders);
}

// The plainest alternative to BM_WarmCheck: every file of any shader, once.
void BM_HashEveryFile(benchmark::State& state) {
  Project& project = TheProject();
  std::set<std::string> paths;
  for (const SourceSet& set : project.sets) {
    for (const SourceSet::File& file : set.files) {
      paths.insert(file.path);
    }
  }
  for (auto _ : state) {
    for (const std::string& path : paths) {
      benchmark::DoNotOptimize(HashFile(project.PathOf(path)));
    }
  }
  state.SetItemsProcessed(state.iterations() * kShaders);
}

// That to BM_WarmCheckOneByOne: every file of every shader.
void BM_HashEveryFileOneByOne(benchmark::State& state) {
  Project& project = TheProject();
  for (auto _ : state) {
    for (const SourceSet& set : project.sets) {
      for (const SourceSet::File& file : set.files) {
        benchmark::DoNotOptimize(HashFile(project.PathOf(file.path)));
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * kShaders);
}

BENCHMARK(BM_WarmCheck)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_HashEveryFile)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_WarmCheckOneByOne)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_HashEveryFileOneByOne)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kiln::sources

BENCHMARK_MAIN();
