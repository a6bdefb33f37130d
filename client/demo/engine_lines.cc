// SPDX-License-Identifier: Apache-2.0
#include "client/demo/engine_lines.h"

#include <chrono>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/client.h"

namespace kiln::demo {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

template <typename Duration>
int64_t Microseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration)
      .count();
}

void Print(const Json& line) {
  std::cout << line.dump() << std::endl;
}

Json CostJson(const client::ReadyVariant& variant) {
  const VariantCost& cost = variant.artifact.cost;
  Json json = {
      {"compile_ms", static_cast<double>(variant.artifact.compile_us) / 1000},
      {"blob_bytes", variant.artifact.blob.size()},
      {"origin", client::OriginText(variant.origin)},
      {"proof", ProofText(variant.artifact.proof)}};
  if (cost.registers) {
    json["registers"] = *cost.registers;
  }
  if (cost.waves) {
    json["waves"] = *cost.waves;
  }
  if (cost.instructions) {
    json["instructions"] = *cost.instructions;
  }
  return json;
}

// How every line about one drawable begins.
Json Begin(std::string_view event, const std::string& role,
           const Drawable& drawable, std::string_view label) {
  Json line = {{"event", event},
               {"role", role},
               {"key", drawable.id->Hex()},
               {"label", label},
               {"axes", AxesOf(drawable.key)}};
  if (!drawable.surface.empty()) {
    line["surface"] = drawable.surface;
  }
  return line;
}

}  // namespace

std::string AxesOf(const VariantKey& key) {
  return fmt::format("{}/{}/{}", key.kind, key.backdrop, key.blend);
}

void EngineLines::Loaded(const std::string& device_name,
                         const WholeSet& whole) const {
  Json costs = Json::object();
  for (const auto& [drawable, variant] : whole) {
    costs[AxesOf(drawable->key)] = CostJson(*variant);
  }
  Print({{"event", "loaded"},
         {"role", role_},
         {"device", device_name},
         {"whole", costs}});
}

void EngineLines::Frame(uint64_t frame, size_t in_view, size_t on_whole,
                        std::string_view connection) const {
  Print({{"event", "frame"},
         {"role", role_},
         {"frame", frame},
         {"in_view", in_view},
         {"on_whole", on_whole},
         {"connection", connection}});
}

void EngineLines::FirstVariant(const Drawable& drawable,
                               const client::ReadyVariant& variant,
                               const pipeline::CreatedPipeline& created) const {
  Json line = Begin("variant", role_, drawable, variant.label);
  line.update(CostJson(variant));
  line.update(
      {{"asked_at_us", Microseconds(drawable.asked_at.time_since_epoch())},
       {"waited_us", Microseconds(Clock::now() - drawable.asked_at)},
       {"frames_on_whole", drawable.frames_on_whole},
       {"feedback", pipeline::HitFeedbackText(created.feedback)},
       {"create_us", created.create_us}});
  Print(line);
}

void EngineLines::Reloaded(const Drawable& drawable,
                           const client::ReadyVariant& variant,
                           const pipeline::CreatedPipeline& created,
                           uint64_t frame) const {
  Json line = Begin("reloaded", role_, drawable, variant.label);
  line.update(CostJson(variant));
  line.update({{"stored_as", KeyId(variant.artifact.key).Hex()},
               {"generation", drawable.generation},
               {"feedback", pipeline::HitFeedbackText(created.feedback)},
               {"create_us", created.create_us},
               {"at_us", Microseconds(Clock::now().time_since_epoch())},
               {"frame", frame}});
  Print(line);
}

void EngineLines::Error(const Drawable& drawable, const std::string& message,
                        const std::string& diagnostics) const {
  Json line = Begin("error", role_, drawable, KeyLabel(program_, drawable.key));
  const bool own = !drawable.surface.empty() && drawable.pipeline.has_value();
  line.update({{"message", message},
               {"diagnostics", diagnostics},
               {"drawn_with", own ? "own" : "whole"}});
  Print(line);
}

void EngineLines::Recovered(const Drawable& drawable) const {
  Print(Begin("recovered", role_, drawable, KeyLabel(program_, drawable.key)));
}

void EngineLines::Settled(uint64_t frame) const {
  Print({{"event", "settled"}, {"role", role_}, {"frame", frame}});
}

void EngineLines::Done(uint64_t frames, int64_t longest_client_us) const {
  Print({{"event", "done"},
         {"role", role_},
         {"frames", frames},
         {"longest_client_us", longest_client_us}});
}

}  // namespace kiln::demo
