// SPDX-License-Identifier: Apache-2.0
#pragma once

// Names the places in a shader that cost it registers (SPEC section 2). It
// reads SPIR-V of -O0 with debug lines, so it sees the source as it was written
// and not what a driver will make of it: what only an optimiser could prove is
// reported. Not an error anywhere in Kiln; `kiln lint` prints it.
//
// dynamic-local-array: an array of the invocation's own (a local variable, an
// argument, a global, a constant table) is indexed by a value that is not a
// constant or specialization constant. Hardware can not index registers, so
// the array goes to scratch memory. One finding per line and array.
//   - Columns of a local matrix count as array elements; components of a
//     vector do not, which drivers select with a compare each.
//   - Buffers, images, inputs and outputs are not local: no finding.
//   - A loop with constant bounds that a driver would unroll is still reported,
//     unless it is marked [[unroll]] and the index follows from its counter
//     alone. Hence the mark states what the shader relies on.
//
// struct-array-across-loops: an array of structs of the invocation's own is
// written in one loop and read in another, or read in a loop before that
// iteration wrote it while other iterations write it. All of it is then live
// in between. One finding per array, where it is read.
//   - A call in a loop is part of that loop, with all that it calls; copies of
//     a whole array, arguments and results carry on what was written.
//   - Loops around both the write and the read do not count for the first
//     half. Writing outside all loops, or reading outside all, is no finding.
//   - A loop that is marked [[unroll]] and has constant bounds is no loop.
//   - A loop that counts through constant bounds and writes element [counter]
//     is taken to write every element.
//
// Where drivers decide for themselves what to unroll, what registers really
// cost is in the driver's statistics (shaders/pipeline/statistics.h).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"

namespace kiln::shaders {

enum class LintRule : uint8_t {
  kDynamicLocalArray = 1,
  kStructArrayAcrossLoops = 2,
};

// "dynamic-local-array", "struct-array-across-loops".
std::string_view RuleName(LintRule rule);

struct LintFinding {
  LintRule rule = LintRule::kDynamicLocalArray;
  std::string file;     // virtual path, or what a #line directive says
  uint32_t line = 0;    // of the access
  std::string symbol;   // "surface.weights"; empty: it has no name there
  std::string message;  // one line, without file and line

  friend bool operator==(const LintFinding&, const LintFinding&) = default;
};

// What the rules find in a module. Requires: nothing; without debug lines files
// are empty, and a damaged module gives fewer findings.
// Returns: sorted by file and line, without repetitions. Thread-safe.
std::vector<LintFinding> LintModule(std::span<const uint32_t> spirv);

// Compiles every stage with debug lines and lints each. A finding in a file
// that two stages include is reported once. Thread-safe.
// Errors: InvalidArgument with the first line of the diagnostics of a stage
// that does not compile. Blocks: for as long as the compiler takes.
absl::StatusOr<std::vector<LintFinding>> LintProgram(const Program& program);

}  // namespace kiln::shaders
