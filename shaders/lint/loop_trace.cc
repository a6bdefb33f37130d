// SPDX-License-Identifier: Apache-2.0
#include "shaders/lint/loop_trace.h"

#include <algorithm>
#include <optional>

namespace kiln::shaders::lint {
namespace {

// Longer arrays are only known to be written as a whole, or by a counter.
constexpr uint32_t kCountedOut = 64;

// Arrays in arrays in arrays: beyond this nothing is taken to be written.
constexpr size_t kCoverageSteps = 10'000;

// Whether what was written at `fact` says something of `path`: the two agree
// as far as both go.
bool Agree(const Path& fact, const Path& path) {
  const size_t size = std::min(fact.size(), path.size());
  for (size_t i = 0; i < size; ++i) {
    if (fact[i] != path[i] && fact[i] != kEveryElement) {
      return false;
    }
  }
  return true;
}

class Coverage {
 public:
  Coverage(const Module& module, std::vector<Path> facts)
      : module_(module), facts_(std::move(facts)) {}

  bool Covers(uint32_t type, Path& path) {
    if (++steps_ > kCoverageSteps) {
      return false;
    }
    bool parts = false;
    for (const Path& fact : facts_) {
      if (Agree(fact, path)) {
        if (fact.size() <= path.size()) {
          return true;
        }
        parts = true;
      }
    }
    return parts && CoversParts(type, path);
  }

 private:
  bool CoversPart(uint32_t type, Path& path, uint32_t index) {
    path.push_back(index);
    const bool covered = Covers(type, path);
    path.pop_back();
    return covered;
  }

  bool CoversParts(uint32_t id, Path& path) {
    const Type* type = module_.FindType(id);
    if (type == nullptr || type->parts.empty()) {
      return false;
    }
    const bool is_struct = type->op == spv::Op::OpTypeStruct;
    if (!is_struct && CoversPart(type->Part(0), path, kEveryElement)) {
      return true;
    }
    const uint32_t count = type->count();
    if (count == 0 || count > kCountedOut) {
      return false;
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (!CoversPart(type->Part(i), path, i)) {
        return false;
      }
    }
    return true;
  }

  const Module& module_;
  const std::vector<Path> facts_;
  size_t steps_ = 0;
};

// The type of a part of `type`; 0 where there is none.
uint32_t TypeAt(const Module& module, uint32_t type, const Path& path) {
  for (const uint32_t index : path) {
    const Type* whole = module.FindType(type);
    type = whole == nullptr ? 0 : whole->Part(index);
  }
  return type;
}

// Adds to `common` what `facts` knows of parts that `others` knows too, as a
// whole or within more.
void AddCommon(const std::map<Path, LoopRun>& facts,
               const std::map<Path, LoopRun>& others, const LoopRuns& runs,
               std::map<Path, LoopRun>& common) {
  for (const auto& [path, run] : facts) {
    Path whole = path;
    auto other = others.find(whole);
    while (other == others.end() && !whole.empty()) {
      whole.pop_back();
      other = others.find(whole);
    }
    if (other != others.end()) {
      common[path] = runs.CommonParent(run, other->second);
    }
  }
}

// The loop run that wrote all parts of what is at `path`, if they are known
// one by one.
std::optional<LoopRun> WrittenParts(const Module& module, const LoopRuns& runs,
                                    const std::map<Path, LoopRun>& facts,
                                    uint32_t type_id, const Path& path) {
  const Type* type = module.FindType(TypeAt(module, type_id, path));
  const uint32_t count = type == nullptr ? 0 : type->count();
  if (count == 0 || count > kCountedOut) {
    return std::nullopt;
  }
  std::optional<LoopRun> run;
  Path part = path;
  part.push_back(0);
  for (uint32_t& index = part.back(); index < count; ++index) {
    const auto fact = facts.find(part);
    if (fact == facts.end()) {
      return std::nullopt;
    }
    run = run ? runs.CommonParent(*run, fact->second) : fact->second;
  }
  return run;
}

}  // namespace

LoopRun LoopRuns::Add(LoopRun parent, Place place) {
  runs_.push_back({parent, Depth(parent) + 1, place});
  return static_cast<LoopRun>(runs_.size()) - 1;
}

uint32_t LoopRuns::Depth(LoopRun run) const {
  return run == kOutside ? 0 : runs_[run].depth;
}

bool LoopRuns::IsWithin(LoopRun run, LoopRun around) const {
  while (Depth(run) > Depth(around)) {
    run = parent(run);
  }
  return run == around;
}

LoopRun LoopRuns::CommonParent(LoopRun a, LoopRun b) const {
  while (a != b) {
    LoopRun& deeper = Depth(a) > Depth(b) ? a : b;
    deeper = parent(deeper);
  }
  return a;
}

bool LoopRuns::AreApart(LoopRun a, LoopRun b) const {
  return !IsWithin(a, b) && !IsWithin(b, a);
}

void ArrayKnowledge::Join(const ArrayKnowledge& other, const LoopRuns& runs) {
  for (auto& [root, facts] : written) {
    const auto theirs = other.written.find(root);
    if (theirs == other.written.end()) {
      facts.clear();
      continue;
    }
    std::map<Path, LoopRun> common;
    AddCommon(facts, theirs->second, runs, common);
    AddCommon(theirs->second, facts, runs, common);
    facts = std::move(common);
  }
  AddWriters(other.writers);
}

void ArrayKnowledge::AddWriters(const Writers& others) {
  for (const auto& [array, theirs] : others) {
    writers[array].insert(theirs.begin(), theirs.end());
  }
}

void ArrayKnowledge::AddWritten(const Module& module, const LoopRuns& runs,
                                const Variable& variable, Path path,
                                LoopRun run) {
  std::map<Path, LoopRun>& facts = written[variable.id];
  facts[path] = run;
  while (!path.empty()) {
    path.pop_back();
    const auto whole = WrittenParts(module, runs, facts, variable.type, path);
    if (!whole) {
      return;
    }
    facts[path] = *whole;
  }
}

void ArrayKnowledge::Forget(uint32_t root) {
  written.erase(root);
  writers.erase(writers.lower_bound({root, 0}),
                writers.upper_bound({root, SIZE_MAX}));
}

size_t ArrayKnowledge::size() const {
  size_t size = 1;
  for (const auto& [root, facts] : written) {
    size += 1 + facts.size();
  }
  for (const auto& [array, runs] : writers) {
    size += 1 + runs.size();
  }
  return size;
}

bool IsWrittenWithin(const Module& module, const LoopRuns& runs,
                     const std::map<Path, LoopRun>& written, uint32_t type,
                     const Path& path, LoopRun loop) {
  std::vector<Path> facts;
  for (const auto& [fact, run] : written) {
    if (runs.IsWithin(run, loop) && Agree(fact, path)) {
      facts.push_back(fact);
    }
  }
  Path part = path;
  return Coverage(module, std::move(facts))
      .Covers(TypeAt(module, type, path), part);
}

}  // namespace kiln::shaders::lint
