// SPDX-License-Identifier: Apache-2.0
#pragma once

// How the texel of an uncompressed format lies in memory, read from the
// format's name: Vulkan's names say all of it ("a2b10g10r10_unorm_pack32").

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/bytes.h"

namespace kiln::lab {

enum class NumberForm : uint8_t {
  kUnorm,
  kSnorm,
  kUint,
  kSint,
  kFloat,   // signed, or unsigned with 10 or 11 bits
  kSrgb,    // unorm, read as linear; alpha is not
  kOpaque,  // anything else: its bytes are known, its numbers are not
};

struct TexelChannel {
  char name = 'r';      // r, g, b, a, d (depth); x: unused
  uint32_t offset = 0;  // bits from the lowest of the texel, little endian
  uint32_t bits = 8;
};

// Thread-compatible value.
struct TexelFormat {
  uint32_t bytes = 4;
  NumberForm form = NumberForm::kUnorm;
  std::vector<TexelChannel> channels;
};

// `name` is a VkFormat in lower case without prefix. Of a depth format with
// stencil, what is described is the depth as vkCmdCopyBufferToImage has it.
// Errors: InvalidArgument for compressed and multi-planar formats.
absl::StatusOr<TexelFormat> ParseTexelFormat(std::string_view name);

// Red, green, blue, alpha as numbers; a depth counts as red. Channels that the
// format lacks are 0, alpha 1. Requires: `texel` has `format.bytes` bytes.
std::array<double, 4> ReadTexel(const TexelFormat& format, ByteView texel);

}  // namespace kiln::lab
