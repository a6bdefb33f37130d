// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every specialised module has to be, whatever it was made of.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spirv/unified1/spirv.hpp11>

#include "proto/constant.h"
#include "proto/spirv_view.h"
#include "shaders/compiler.h"
#include "shaders/specialise/specialise.h"
#include "shaders/spirv_op.h"
#include "tests/support/status_matchers.h"

namespace kiln::specialise {

inline size_t CountOps(std::span<const uint32_t> spirv, spv::Op op) {
  size_t count = 0;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    count += shaders::OpOf(instruction) == op;
  });
  return count;
}

inline size_t SpecializationConstants(std::span<const uint32_t> spirv) {
  size_t count = 0;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    count += shaders::OpOf(instruction) >= spv::Op::OpSpecConstantTrue &&
             shaders::OpOf(instruction) <= spv::Op::OpSpecConstantOp;
  });
  return count;
}

// Specialises, and checks that the result is valid, smaller, has nothing left
// to specialize and does not change if it is specialised again. Empty when it
// could not be made.
inline std::vector<uint32_t> Specialised(const PreparedModule& module,
                                         std::span<const Constant> constants) {
  const auto made =
      Specialise(module, constants, shaders::Revalidation::kAlways);
  EXPECT_OK(made);
  if (!made.ok()) {
    return {};
  }
  EXPECT_EQ(SpecializationConstants(*made), 0u);
  EXPECT_THAT(shaders::SpecializationIds(*made), ::testing::IsEmpty());
  const auto prepared = Prepare(*made);
  EXPECT_OK(prepared);
  if (prepared.ok()) {
    const auto again = Specialise(*prepared, {});
    EXPECT_OK(again);
    EXPECT_TRUE(again.ok() && *again == *made) << "it changes the second time";
  }
  return *made;
}

inline std::vector<uint32_t> Specialised(std::span<const uint32_t> spirv,
                                         std::span<const Constant> constants) {
  const auto module = Prepare({spirv.begin(), spirv.end()});
  EXPECT_OK(module);
  return module.ok() ? Specialised(*module, constants)
                     : std::vector<uint32_t>();
}

}  // namespace kiln::specialise
