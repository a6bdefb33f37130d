// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the pointers of one function point into, in the terms of its source:
// variable `surface`, its member `layers`, an element of that.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shaders/lint/module.h"

namespace kiln::shaders::lint {

// One index of an access chain, and the type it goes into.
struct Step {
  uint32_t index = 0;      // id of the index
  uint32_t container = 0;  // id of the type
};

struct Pointer {
  uint32_t root = 0;  // a variable or a pointer parameter
  std::vector<Step> steps;
  size_t own_steps = 0;  // how many the instruction itself adds, at the end
  uint32_t pointee = 0;  // type id
};

// The access chains of `function` into memory of the invocation's own, chains
// upon chains resolved. By result id.
std::map<uint32_t, Pointer> LocalChains(const Module& module,
                                        const Function& function);

// The source's name for `root`, a variable or parameter: "weights". glslang's
// temporaries are named by what they hold: an argument by its parameter, a
// value that is indexed by the parameter, variable or function ("f()") it came
// from. Empty: a constant, or nothing that has a name.
std::string SourceName(const Module& module, const Function& function,
                       uint32_t root);

// That with the first `count` steps: "surface.layers[2].weights[]".
std::string SourceName(const Module& module, const Function& function,
                       const Pointer& pointer, size_t count);

}  // namespace kiln::shaders::lint
