// SPDX-License-Identifier: Apache-2.0
#pragma once

// Something an engine draws and the pipeline it draws it with. Surfaces and the
// whole shaders that stand in for them are kept alike: a save makes both anew.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "proto/digest.h"
#include "proto/variant_key.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::demo {

// Thread-compatible.
struct Drawable {
  std::string surface;  // empty: one of the whole-shader set
  VariantKey key;
  std::optional<Digest> id{};  // once it was asked for
  std::chrono::steady_clock::time_point asked_at{};
  uint64_t frames_on_whole = 0;
  // The variant that the client gave last, as VariantStatus::generation; 0: it
  // has given none.
  uint32_t generation = 0;
  // Stays until the pipeline of a later generation exists.
  std::optional<pipeline::Pipeline> pipeline{};
  // Why what was saved last does not compile; empty: it does.
  std::string problem{};
};

}  // namespace kiln::demo
