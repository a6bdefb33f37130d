// SPDX-License-Identifier: Apache-2.0
#pragma once

// A lavapipe device under the validation layer, which has to stay silent.

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/pipeline/device.h"
#include "tests/shaders/pipeline_fixture.h"

namespace kiln::lab {

class LabTest : public ::testing::Test {
 protected:
  void SetUp() override {
    KILN_OPEN_OR_SKIP(device, "lavapipe");
    device_ = std::move(device);
  }

  void TearDown() override {
    if (device_ != nullptr) {
      EXPECT_THAT(device_->validation_messages(), ::testing::IsEmpty());
    }
  }

  std::unique_ptr<pipeline::Device> device_;
};

}  // namespace kiln::lab
