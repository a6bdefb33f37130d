// SPDX-License-Identifier: Apache-2.0
#pragma once

// What is known, at one point of a program, about how arrays of structs got
// their contents. For struct_arrays.cc, which walks the program and keeps one
// ArrayKnowledge per path of control flow.

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "shaders/lint/module.h"

namespace kiln::shaders::lint {

// A loop as it is met on the way from the entry point: the loop of a function
// that is called twice is two. kOutside: no loop.
using LoopRun = int;
inline constexpr LoopRun kOutside = -1;

// The tree of loop runs. Thread-compatible.
class LoopRuns {
 public:
  LoopRun Add(LoopRun parent, Place place);

  LoopRun parent(LoopRun run) const { return runs_[run].parent; }

  const Place& place(LoopRun run) const { return runs_[run].place; }

  // Whether `run` is `around` or nested in it; everything is in kOutside.
  bool IsWithin(LoopRun run, LoopRun around) const;

  LoopRun CommonParent(LoopRun a, LoopRun b) const;

  // Whether there is a loop around `a` but not `b`, and one around `b` but not
  // `a`.
  bool AreApart(LoopRun a, LoopRun b) const;

 private:
  struct Run {
    LoopRun parent = kOutside;
    uint32_t depth = 0;
    Place place;
  };

  uint32_t Depth(LoopRun run) const;

  std::vector<Run> runs_;
};

// Indices from a variable to a part of it: of members and elements, or one of
// the values below.
using Path = std::vector<uint32_t>;
inline constexpr uint32_t kEveryElement = 0xffffffff;

// The element that a loop's counter selects: throughout one iteration the same
// one, whichever it is.
inline constexpr uint32_t kCountedElement = 0x80000000;  // | id of the counter

// A variable, by its id, and which of the arrays of structs in it.
using ArrayId = std::pair<uint32_t, size_t>;

// Loop runs in which an array's contents may have been written.
using Writers = std::map<ArrayId, std::set<LoopRun>>;

struct Variable {
  uint32_t id = 0;
  uint32_t type = 0;
};

// Thread-compatible value.
struct ArrayKnowledge {
  // Parts of each variable that were written on every way here, with the loop
  // run of the last write. A part stays known for the rest of the iteration.
  std::map<uint32_t, std::map<Path, LoopRun>> written;
  Writers writers;

  // Notes that the part of `variable` at `path` was written in `run`; with it
  // what this completes.
  void AddWritten(const Module& module, const LoopRuns& runs,
                  const Variable& variable, Path path, LoopRun run);

  void AddWriters(const Writers& others);

  // Becomes what is known where the ways of this and `other` meet.
  void Join(const ArrayKnowledge& other, const LoopRuns& runs);

  // Forgets variable `root`: a new one begins to live.
  void Forget(uint32_t root);

  // Roughly what a copy costs.
  size_t size() const;
};

// Whether `path` of a variable of type `type` was written as a whole within
// the current iteration of `loop`.
bool IsWrittenWithin(const Module& module, const LoopRuns& runs,
                     const std::map<Path, LoopRun>& written, uint32_t type,
                     const Path& path, LoopRun loop);

}  // namespace kiln::shaders::lint
