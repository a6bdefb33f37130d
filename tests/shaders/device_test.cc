// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/device.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/text.h"
#include "shaders/pipeline/device_handles.h"
#include "tests/shaders/pipeline_fixture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::pipeline {
namespace {

using ::kiln::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string FieldOf(const TargetIdentity& identity, std::string_view name) {
  const auto found =
      std::ranges::find(identity.fields, name, &IdentityField::name);
  return found == identity.fields.end() ? "(absent)" : found->value;
}

TEST(DeviceTest, IdentityNamesTheDriverDownToItsBuild) {
  KILN_OPEN_OR_SKIP(device, "radv:vangogh");
  const TargetIdentity& identity = device->identity();
  EXPECT_EQ(FieldOf(identity, "vendor_id"), "0x1002");
  EXPECT_EQ(FieldOf(identity, "driver_id"), "mesa_radv");
  EXPECT_EQ(FieldOf(identity, "pointer_bits"), "64");
  EXPECT_THAT(FieldOf(identity, "device_name"), HasSubstr("VANGOGH"));
  EXPECT_THAT(FieldOf(identity, "features"),
              HasSubstr("pipelineCreationCacheControl"));
  EXPECT_GE(FieldOf(identity, "driver_build").size(), 32u);
  EXPECT_EQ(FieldOf(identity, "pipeline_cache_uuid").size(), 32u);
  EXPECT_EQ(FieldOf(identity, "device_uuid"),
            "(absent)");  // differs per machine
  EXPECT_TRUE(std::ranges::is_sorted(identity.fields));
  for (const IdentityField& field : identity.fields) {
    EXPECT_TRUE(IsValidUtf8(field.value)) << field.name;
  }
}

TEST(DeviceTest, IdentityIsEqualOnEveryOpening) {
  for (const std::string_view target : {"radv:vangogh", "lavapipe"}) {
    Digest first;
    {
      KILN_OPEN_OR_SKIP(device, target);
      first = device->identity().Id();
    }
    KILN_OPEN_OR_SKIP(device, target);
    EXPECT_EQ(device->identity().Id(), first);
  }
}

TEST(DeviceTest, FamiliesAreDifferentTargets) {
  TargetIdentity first;
  {
    KILN_OPEN_OR_SKIP(device, "radv:navi21");
    first = device->identity();
  }
  KILN_OPEN_OR_SKIP(device, "radv:vangogh");
  EXPECT_NE(device->identity().Id(), first.Id());
  EXPECT_NE(FieldOf(device->identity(), "device_id"),
            FieldOf(first, "device_id"));
  EXPECT_EQ(FieldOf(device->identity(), "driver_build"),
            FieldOf(first, "driver_build"));
}

TEST(DeviceTest, ValidationLayerIsPartOfTheIdentityAndNotTakenForTheDriver) {
  KILN_OPEN_OR_SKIP(checked, "radv:vangogh");
  ASSERT_OK_AND_ASSIGN(const auto bare, OpenTarget("radv:vangogh", false));
  EXPECT_NE(checked->identity().Id(), bare->identity().Id());
  EXPECT_EQ(FieldOf(bare->identity(), "layers"), "");
  EXPECT_EQ(FieldOf(checked->identity(), "layers"),
            "VK_LAYER_KHRONOS_validation");
  EXPECT_EQ(FieldOf(checked->identity(), "driver_build"),
            FieldOf(bare->identity(), "driver_build"));
}

TEST(DeviceTest, OpeningIsSilentUnderTheValidationLayer) {
  for (const std::string_view target : {"radv:vangogh", "lavapipe"}) {
    KILN_OPEN_OR_SKIP(device, target);
    EXPECT_THAT(device->validation_messages(), IsEmpty());
  }
}

TEST(DeviceTest, ValidationMessagesAreCollected) {
  KILN_OPEN_OR_SKIP(device, "radv:vangogh");
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;  // wrong on purpose
  VkPipelineCache cache = VK_NULL_HANDLE;
  ASSERT_EQ(vkCreatePipelineCache(device->handles().device.get(), &info,
                                  nullptr, &cache),
            VK_SUCCESS);
  vkDestroyPipelineCache(device->handles().device.get(), cache, nullptr);
  EXPECT_THAT(device->validation_messages(), Contains(HasSubstr("sType")));
}

// RADV itself aborts the process on a name it does not know.
TEST(DeviceTest, UnknownRadvFamilyIsAnErrorNotACrash) {
  KILN_OPEN_OR_SKIP(device, "radv:vangogh");
  for (const std::string_view family :
       {"nosuch", "radv", "gfx", "gfx1", "gfx110", "navi", "navi2", "navi99",
        "VK", "mi100"}) {
    const std::string target = "radv:" + std::string(family);
    EXPECT_THAT(OpenTarget(target),
                StatusIs(absl::StatusCode::kNotFound,
                         AllOf(HasSubstr("'" + std::string(family) + "'"),
                               HasSubstr("vangogh"))));
  }
}

TEST(DeviceTest, FamilyIsFoundInEitherCase) {
  KILN_OPEN_OR_SKIP(device, "radv:VanGogh");
  EXPECT_THAT(device->identity().device_name, HasSubstr("VANGOGH"));
}

TEST(DeviceTest, GpuIndexThatTheMachineHasNotIsNamed) {
  EXPECT_THAT(OpenTarget("gpu:99", false),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("gpu:99")));
}

TEST(DeviceTest, MissingManifestNamesTheFoldersSearched) {
  const testing::TempDir empty;
  const std::string dirs = empty.path().string();
  ASSERT_EQ(setenv("XDG_DATA_DIRS", dirs.c_str(), 1), 0);
  const absl::Status status =
      SelectDriver(TargetSpec::Parse("lavapipe").value());
  unsetenv("XDG_DATA_DIRS");
  if (!status.ok()) {  // a machine without lavapipe elsewhere
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr(dirs)));
  }
}

TEST(DeviceTest, ManifestInXdgDataDirsComesFirst) {
  const testing::TempDir data;
  const auto folder = data.path() / "vulkan" / "icd.d";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "lvp_icd.test.json")
      << R"({"file_format_version": "1.0.0", "ICD": {"library_path": "./no.so"}})";
  ASSERT_EQ(setenv("XDG_DATA_DIRS", data.path().c_str(), 1), 0);
  const absl::Status status =
      SelectDriver(TargetSpec::Parse("lavapipe").value());
  unsetenv("XDG_DATA_DIRS");
  ASSERT_OK(status);
  EXPECT_EQ(std::string(getenv("VK_DRIVER_FILES")),
            (folder / "lvp_icd.test.json").string());
  EXPECT_THAT(Device::Open(TargetSpec::Parse("lavapipe").value()),
              StatusIs(absl::StatusCode::kNotFound,
                       "no Vulkan driver could be loaded"));
}

TEST(DeviceTest, OpeningAnotherTargetThanTheSelectedOneIsRefused) {
  ASSERT_OK(SelectDriver(TargetSpec::Parse("gpu:0").value()));
  EXPECT_THAT(Device::Open(TargetSpec::Parse("lavapipe").value()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "SelectDriver was called for gpu:0, not for lavapipe"));
}

TEST(DeviceTest, SelectingADriverScrubsTheEnvironment) {
  for (const char* name :
       {"RADV_DEBUG", "MANGOHUD", "VK_INSTANCE_LAYERS", "RADV_FORCE_FAMILY"}) {
    setenv(name, "1", 1);
  }
  ASSERT_OK(SelectDriver(TargetSpec::Parse("gpu:0").value()));
  for (const char* name :
       {"RADV_DEBUG", "MANGOHUD", "VK_INSTANCE_LAYERS", "RADV_FORCE_FAMILY"}) {
    EXPECT_EQ(getenv(name), nullptr) << name;
  }
  EXPECT_STREQ(getenv("MESA_SHADER_CACHE_DISABLE"), "true");
  EXPECT_STREQ(getenv("__GL_SHADER_DISK_CACHE"), "0");
}

}  // namespace
}  // namespace kiln::pipeline
