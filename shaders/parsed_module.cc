// SPDX-License-Identifier: Apache-2.0
#include "shaders/parsed_module.h"

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/text.h"

namespace kiln::shaders {

absl::StatusOr<ParsedModule> ParsedModule::Parse(
    std::span<const uint32_t> spirv) {
  ParsedModule module;
  spvc_context context = nullptr;
  if (spvc_context_create(&context) != SPVC_SUCCESS) {
    return absl::ResourceExhaustedError("SPIRV-Cross has no memory");
  }
  module.context_.reset(context);
  spvc_parsed_ir ir = nullptr;
  if (spvc_context_parse_spirv(context, spirv.data(), spirv.size(), &ir) !=
          SPVC_SUCCESS ||
      spvc_context_create_compiler(context, SPVC_BACKEND_NONE, ir,
                                   SPVC_CAPTURE_MODE_TAKE_OWNERSHIP,
                                   &module.compiler_) != SPVC_SUCCESS) {
    return absl::InvalidArgumentError(fmt::format(
        "SPIRV-Cross cannot read the module: {}",
        Shorten(ToValidUtf8(spvc_context_get_last_error_string(context)),
                limits::kStatusTextBytes / 2)));
  }
  return module;
}

}  // namespace kiln::shaders
