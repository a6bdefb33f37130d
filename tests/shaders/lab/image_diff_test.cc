// SPDX-License-Identifier: Apache-2.0

// Comparing pictures and showing where they differ. No device.

#include "shaders/lab/image_diff.h"

#include <png.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shaders/lab/picture_image.h"
#include "shaders/lab/texel_format.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::lab {
namespace {

using ::kiln::testing::StatusIs;
using ::kiln::testing::TempDir;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t kWidth = 4;
constexpr uint32_t kHeight = 3;

// A picture of one layer of floats, all `value`, and a depth.
Picture FloatPicture(float value, uint32_t samples = 1) {
  Picture picture{kWidth, kHeight, samples, {}, true};
  for (const char* format : {"r32_sfloat", "r32_sfloat"}) {
    PictureLayer layer{format, sizeof(float), {}};
    layer.texels.resize(size_t{kWidth} * kHeight * samples * sizeof(float));
    for (size_t i = 0; i < layer.texels.size(); i += sizeof(float)) {
      std::memcpy(&layer.texels[i], &value, sizeof(value));
    }
    picture.layers.push_back(std::move(layer));
  }
  return picture;
}

void Set(Picture& picture, size_t layer, size_t index, float value) {
  std::memcpy(&picture.layers[layer].texels[index * sizeof(float)], &value,
              sizeof(value));
}

PictureDifference Compare(const Picture& a, const Picture& b,
                          const std::optional<Tolerance>& tolerance = {}) {
  return ComparePictures(a, b, tolerance).value();
}

TEST(ImageDiffTest, EqualBytesAreEqualEvenWhereTheyAreNotNumbers) {
  Picture picture = FloatPicture(0.5f);
  Set(picture, 0, 3, kNan);
  const PictureDifference difference = Compare(picture, picture);
  EXPECT_TRUE(difference.same());
  EXPECT_TRUE(difference.bytes_equal);
}

TEST(ImageDiffTest, OtherBytesForTheSameNumberAreADifference) {
  Picture minus = FloatPicture(0);
  Set(minus, 0, 0, -0.0f);
  const PictureDifference difference = Compare(FloatPicture(0), minus);
  EXPECT_FALSE(difference.same());
  EXPECT_EQ(difference.pixels, 1u);
  EXPECT_EQ(difference.max_difference, 0);
}

TEST(ImageDiffTest, PixelsAreCountedOnceAndBoxed) {
  const Picture a = FloatPicture(1, 2);
  Picture b = a;
  Set(b, 0, 2 * 5, 1.5f);      // pixel 5: x 1, y 1, first sample
  Set(b, 0, 2 * 5 + 1, 3.0f);  // and its second
  Set(b, 1, 2 * 11, 0.0f);     // pixel 11: x 3, y 2, depth
  const PictureDifference difference = Compare(a, b);
  EXPECT_EQ(difference.pixels, 2u);
  EXPECT_EQ(difference.max_difference, 2);
  EXPECT_EQ(difference.left, 1u);
  EXPECT_EQ(difference.top, 1u);
  EXPECT_EQ(difference.right, 3u);
  EXPECT_EQ(difference.bottom, 2u);
  EXPECT_EQ(difference.layer, 0u);
  b.layers[0] = a.layers[0];
  EXPECT_EQ(Compare(a, b).layer, 1u);
}

TEST(ImageDiffTest, ToleranceForgivesWhatLiesWithinItAndSaysSo) {
  const Tolerance tolerance{"mesa_llvmpipe", 0.25};
  const Picture a = FloatPicture(1);
  Picture b = a;
  Set(b, 0, 0, 1.25f);
  EXPECT_TRUE(Compare(a, b, tolerance).same());
  EXPECT_FALSE(Compare(a, b, tolerance).bytes_equal);
  EXPECT_EQ(Compare(a, b, tolerance).max_difference, 0.25);
  Set(b, 0, 1, 1.5f);
  EXPECT_EQ(Compare(a, b, tolerance).pixels, 1u);
  Set(b, 0, 1, kNan);
  EXPECT_EQ(Compare(a, b, tolerance).pixels, 1u);
  EXPECT_TRUE(std::isinf(Compare(a, b, tolerance).max_difference));
}

TEST(ImageDiffTest, PicturesOfOtherShapesCannotBeCompared) {
  EXPECT_THAT(ComparePictures(FloatPicture(1), FloatPicture(1, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ImageDiffTest, ToleranceIsADriverAndANumberAboveZero) {
  EXPECT_EQ(ParseTolerance("mesa_llvmpipe=0.125")->max_difference, 0.125);
  EXPECT_EQ(ParseTolerance("nvidia_proprietary=1e-3")->driver,
            "nvidia_proprietary");
  for (const char* wrong :
       {"", "mesa_llvmpipe", "mesa_llvmpipe=", "mesa_llvmpipe=x",
        "mesa_llvmpipe=1x", "mesa_llvmpipe=0", "mesa_llvmpipe=-1",
        "mesa_llvmpipe=inf", "mesa_llvmpipe=nan", "voodoo=1"}) {
    EXPECT_THAT(ParseTolerance(wrong),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << wrong;
  }
}

// Reads a texel of `format` from its bytes, lowest first.
std::array<double, 4> Texel(std::string_view format, uint64_t bits) {
  const TexelFormat parsed = ParseTexelFormat(format).value();
  Bytes bytes(parsed.bytes);
  std::memcpy(bytes.data(), &bits, std::min(bytes.size(), sizeof(bits)));
  return ReadTexel(parsed, bytes);
}

TEST(TexelFormatTest, NamesSayHowTexelsLieInMemory) {
  EXPECT_THAT(Texel("r8g8b8a8_unorm", 0x80ff0033),
              ElementsAre(0.2, 0, 1, DoubleNear(0.5, 0.01)));
  EXPECT_THAT(Texel("b8g8r8a8_unorm", 0xff0000ff), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Texel("a2b10g10r10_unorm_pack32", 0xc00003ff),
              ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(Texel("r5g6b5_unorm_pack16", 0xf800), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(
      Texel("r16g16b16a16_sfloat", 0x3c00'7c00'8001'c000),
      ElementsAre(-2, -0x1p-24, std::numeric_limits<double>::infinity(), 1));
  EXPECT_THAT(Texel("b10g11r11_ufloat_pack32", 0x3c0), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(Texel("r8g8_snorm", 0x7f81), ElementsAre(-1, 1, 0, 1));
  EXPECT_THAT(Texel("r16g16_sint", 0x0005ffff), ElementsAre(-1, 5, 0, 1));
  EXPECT_THAT(Texel("r8g8b8a8_srgb", 0x800000ff),
              ElementsAre(1, 0, 0, DoubleNear(0.5, 0.01)));
  EXPECT_THAT(Texel("d16_unorm", 0xffff), ElementsAre(1, 0, 0, 1));
  EXPECT_EQ(ParseTexelFormat("d24_unorm_s8_uint")->bytes, 4u);
  EXPECT_EQ(ParseTexelFormat("x8_d24_unorm_pack32")->channels[0].bits, 24u);
  EXPECT_EQ(ParseTexelFormat("d32_sfloat_s8_uint")->bytes, 4u);
  EXPECT_EQ(ParseTexelFormat("e5b9g9r9_ufloat_pack32")->bytes, 4u);
  EXPECT_EQ(ParseTexelFormat("r32g32b32_sfloat")->bytes, 12u);
  for (const char* wrong : {"bc1_rgb_unorm_block", "astc_4x4_unorm_block",
                            "g8_b8r8_2plane_420_unorm", "mauve", ""}) {
    EXPECT_THAT(ParseTexelFormat(wrong),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << wrong;
  }
}

// A PNG's pixels, as RGB.
std::vector<uint8_t> ReadPng(const std::filesystem::path& file) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_file(&image, file.c_str()), 0)
      << image.message;
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr),
            0)
      << image.message;
  EXPECT_EQ(image.width, kWidth);
  EXPECT_EQ(image.height, kHeight);
  return pixels;
}

TEST(PictureImageTest, ThreeImagesShowBothPicturesAndWhereTheyDiffer) {
  const TempDir folder;
  const Picture whole = FloatPicture(1);
  Picture variant = whole;
  Set(variant, 0, 5, 1.0001f);  // far below one step of 8 bits
  Set(variant, 0, 6, 9.0f);
  Set(variant, 0, 7, kNan);
  ASSERT_OK(WriteDifference(folder / "case" / "deep", whole, variant, 0));
  const auto at = [](const std::vector<uint8_t>& image, size_t pixel) {
    return std::vector<uint8_t>(image.begin() + pixel * 3,
                                image.begin() + pixel * 3 + 3);
  };
  const auto whole_image = ReadPng(folder / "case" / "deep" / "whole.png");
  const auto variant_image = ReadPng(folder / "case" / "deep" / "variant.png");
  const auto diff_image = ReadPng(folder / "case" / "deep" / "diff.png");
  EXPECT_THAT(at(whole_image, 5), ElementsAre(186, 186, 186));  // 0.5, gamma
  EXPECT_EQ(at(variant_image, 5), at(whole_image, 5));
  EXPECT_GT(at(variant_image, 6)[0], 220);
  EXPECT_THAT(at(variant_image, 7), ElementsAre(255, 0, 255));
  EXPECT_THAT(at(diff_image, 0), ElementsAre(46, 46, 46));
  EXPECT_THAT(at(diff_image, 5), ElementsAre(255, 255, 0));
  EXPECT_THAT(at(diff_image, 6), ElementsAre(255, 0, 0));
  EXPECT_THAT(at(diff_image, 7), ElementsAre(255, 0, 0));
}

TEST(PictureImageTest, DepthIsStretchedOverWhatCanBeSeen) {
  Picture picture = FloatPicture(0.5f);
  Set(picture, 1, 0, 0.5001f);
  ASSERT_OK_AND_ASSIGN(const std::vector<uint8_t> image, ImageOf(picture, 1));
  EXPECT_EQ(image[0], 255);
  EXPECT_EQ(image[3], 0);
}

TEST(PictureImageTest, FolderThatCannotBeMadeIsNamed) {
  const Picture picture = FloatPicture(1);
  EXPECT_THAT(
      WriteDifference("/proc/kiln", picture, picture, 0),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/proc/kiln")));
}

}  // namespace
}  // namespace kiln::lab
