// SPDX-License-Identifier: Apache-2.0
#pragma once

// Explains one way in which glslang turns valid GLSL into invalid SPIR-V
// (KNOWN_FAULTS 4): `&&` or `||` of specialization constants in a constant
// expression becomes control flow in whichever function is being built, and is
// then used outside it. Drivers crash on such a module. For people's eyes; the
// module itself is refused by ValidateModule (compiler.h).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proto/program.h"

namespace kiln::shaders {

// One `&&` or `||` whose result is used where it is not defined.
struct LogicalConstantFault {
  std::string name;   // the constant declared with it; empty in an expression
  std::string file;   // empty without debug lines
  uint32_t line = 0;  // of the operator
  bool is_or = false;

  friend auto operator<=>(const LogicalConstantFault&,
                          const LogicalConstantFault&) = default;
};

// Looks for that pattern. Requires: nothing; a damaged module gives fewer
// results. Returns: sorted by file and line, without repetitions.
std::vector<LogicalConstantFault> FindLogicalConstantFaults(
    std::span<const uint32_t> spirv);

// One line: file and line of the constant's declaration in `program`'s sources,
// what is wrong, and how to write it so that it validates.
std::string DescribeFault(const Program& program,
                          const LogicalConstantFault& fault);

}  // namespace kiln::shaders
