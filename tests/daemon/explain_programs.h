// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the tests of `kiln why` compare: devices and edits of one program.

#include <string>

#include "proto/program.h"
#include "proto/target.h"
#include "tests/support/small_program.h"

namespace kiln::daemon {

inline TargetIdentity Device(const std::string& driver,
                             const std::string& features = "int64") {
  return {"VANGOGH", {{"driver_build", driver}, {"features", features}}};
}

// A SmallProgram whose fragment shader ends in a comment: what an edit makes.
inline Program Edited(const std::string& comment) {
  return testing::SmallProgram(std::string(testing::kSmallFragment) + "// " +
                               comment + "\n");
}

}  // namespace kiln::daemon
