// SPDX-License-Identifier: Apache-2.0
#pragma once

// A module as SPIRV-Cross parsed it, and its owner. Internal to this folder,
// for .cc files: only there may SPIRV-Cross be seen.

#include <cstdint>
#include <memory>
#include <span>

#include <spirv_cross/spirv_cross_c.h>

#include "absl/status/statusor.h"

namespace kiln::shaders {

// Thread-compatible. Move-only: owns the context.
class ParsedModule {
 public:
  // Requires: a validated module. Errors: InvalidArgument with what SPIRV-Cross
  // says when it cannot read it; ResourceExhausted without memory.
  static absl::StatusOr<ParsedModule> Parse(std::span<const uint32_t> spirv);

  // Lifetime: that of the module.
  spvc_compiler compiler() const { return compiler_; }

 private:
  struct DestroyContext {
    void operator()(spvc_context context) const {
      spvc_context_destroy(context);
    }
  };

  std::unique_ptr<spvc_context_s, DestroyContext> context_;
  spvc_compiler compiler_ = nullptr;  // the context's
};

}  // namespace kiln::shaders
