// SPDX-License-Identifier: Apache-2.0
#include "proto/module_interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace kiln {
namespace {

using testing::StatusIs;

ModuleInterface Interface() {
  ModuleInterface interface;
  interface.entry_point = "shade";
  interface.bindings = {{"albedo", 0, 1, "combined_image_sampler", 4},
                        {"", 2, 0, "storage_buffer", 0}};
  interface.push_constants = {{"tint", 16, 12}};
  interface.constants = {
      {3, "scale", ConstantType::kFloat64, 0x8000000000000001, true},
      {9, "", ConstantType::kBool, 1, false}};
  interface.inputs = {{"uv", 1, 2, "vec2", 3}};
  interface.outputs = {{"colour", 0, 0, "vec4", 1},
                       {"normal", 1, 0, "vec3", 1}};
  interface.workgroup_size = {8, 4, 1};
  interface.workgroup_size_ids = {7, std::nullopt, 0};
  return interface;
}

TEST(ModuleInterfaceTest, EveryFieldSurvivesEncoding) {
  ASSERT_OK_AND_ASSIGN(const ModuleInterface read,
                       DecodeInterface(EncodeInterface(Interface())));
  EXPECT_EQ(read, Interface());
  ASSERT_OK_AND_ASSIGN(const ModuleInterface empty,
                       DecodeInterface(EncodeInterface({})));
  EXPECT_EQ(empty, ModuleInterface());
}

// KNOWN_FAULTS 31: no two interfaces have the same bytes.
TEST(ModuleInterfaceTest, EveryFieldChangesTheBytes) {
  const Bytes original = EncodeInterface(Interface());
  auto expect_other = [&](auto change) {
    ModuleInterface other = Interface();
    change(other);
    EXPECT_NE(EncodeInterface(other), original);
  };
  expect_other([](ModuleInterface& i) { i.entry_point = "main"; });
  expect_other([](ModuleInterface& i) { i.bindings[0].name = "x"; });
  expect_other([](ModuleInterface& i) { i.bindings[0].set = 1; });
  expect_other([](ModuleInterface& i) { i.bindings[0].binding = 2; });
  expect_other([](ModuleInterface& i) { i.bindings[0].type = "sampler"; });
  expect_other([](ModuleInterface& i) { i.bindings[0].count = 5; });
  expect_other(
      [](ModuleInterface& i) { i.push_constants[0].offset_bytes = 0; });
  expect_other([](ModuleInterface& i) { i.push_constants[0].size_bytes = 16; });
  expect_other([](ModuleInterface& i) { i.constants[0].id = 4; });
  expect_other([](ModuleInterface& i) { i.constants[0].default_value = 1; });
  expect_other([](ModuleInterface& i) { i.constants[1].used = true; });
  expect_other(
      [](ModuleInterface& i) { i.constants[0].type = ConstantType::kInt64; });
  expect_other([](ModuleInterface& i) { std::swap(i.inputs, i.outputs); });
  expect_other([](ModuleInterface& i) { i.inputs[0].component = 0; });
  expect_other([](ModuleInterface& i) { i.inputs[0].count = 1; });
  expect_other([](ModuleInterface& i) { i.workgroup_size[1] = 8; });
  expect_other([](ModuleInterface& i) { i.workgroup_size_ids[1] = 0; });
}

TEST(ModuleInterfaceTest, TruncationAtAnyByteIsRefused) {
  const Bytes whole = EncodeInterface(Interface());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(DecodeInterface(ByteView(whole).first(size)),
                StatusIs(absl::StatusCode::kInvalidArgument, "interface"))
        << size;
  }
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_THAT(DecodeInterface(longer),
              StatusIs(absl::StatusCode::kInvalidArgument, "interface"));
}

// A flipped bit gives another interface, in its own canonical bytes, or an
// error; never the same one, and never a crash.
TEST(ModuleInterfaceTest, FlippedBitIsAnotherInterfaceOrRefused) {
  const Bytes whole = EncodeInterface(Interface());
  for (size_t i = 0; i < whole.size() * 8; ++i) {
    Bytes damaged = whole;
    damaged[i / 8] ^= static_cast<std::byte>(1 << (i % 8));
    if (const auto read = DecodeInterface(damaged); read.ok()) {
      EXPECT_EQ(EncodeInterface(*read), damaged);
      EXPECT_FALSE(*read == Interface());
    }
  }
}

}  // namespace
}  // namespace kiln
