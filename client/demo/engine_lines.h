// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an engine tells those who started it, one JSON object a line of stdout:
//   {"event":"loaded", ...}     the whole-shader set is there
//   {"event":"frame", "frame":n, "on_whole":k, "connection":"ready"}  now and
//   then
//   {"event":"variant", ...}    a surface's own variant was swapped in: who,
//   when, how the driver answered
//   {"event":"done", ...}       the end
// and of a live engine:
//   {"event":"settled", ...}    every surface is drawn with its own variant
//   {"event":"reloaded", ...}   a later version was swapped in after a save
//   {"event":"error", ...}      what was saved does not compile
//   {"event":"recovered", ...}  and now it does again
// Times that end in at_us are of the steady clock, which all processes of a
// machine share.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/demo/drawable.h"
#include "client/variant.h"
#include "proto/program.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::demo {

// "kind/backdrop/blend".
std::string AxesOf(const VariantKey& key);

// Thread-compatible. Requires: `role` and `program` outlive it.
class EngineLines {
 public:
  EngineLines(const std::string& role, const Program& program)
      : role_(role), program_(program) {}

  using WholeSet = std::vector<
      std::pair<const Drawable*, std::shared_ptr<const client::ReadyVariant>>>;
  void Loaded(const std::string& device_name, const WholeSet& whole) const;
  void Frame(uint64_t frame, size_t in_view, size_t on_whole,
             std::string_view connection) const;
  void FirstVariant(const Drawable& drawable,
                    const client::ReadyVariant& variant,
                    const pipeline::CreatedPipeline& created) const;
  void Reloaded(const Drawable& drawable, const client::ReadyVariant& variant,
                const pipeline::CreatedPipeline& created, uint64_t frame) const;
  void Error(const Drawable& drawable, const std::string& message,
             const std::string& diagnostics) const;
  void Recovered(const Drawable& drawable) const;
  void Settled(uint64_t frame) const;
  void Done(uint64_t frames, int64_t longest_client_us) const;

 private:
  const std::string& role_;
  const Program& program_;
};

}  // namespace kiln::demo
