// SPDX-License-Identifier: Apache-2.0
#include "client/demo/engine.h"

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/client.h"
#include "client/demo/level.h"
#include "client/vulkan/adapter.h"
#include "proto/program_file.h"
#include "proto/status_macros.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::demo {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

void Print(const Json& line) {
  std::cout << line.dump() << std::endl;
}

template <typename Duration>
int64_t Microseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration)
      .count();
}

// A surface in view, and what it is drawn with.
struct Draw {
  std::string surface;
  VariantKey key;
  std::optional<Digest> key_id;  // once asked for
  Clock::time_point asked_at;
  uint64_t frames_on_whole = 0;
  std::optional<pipeline::Pipeline> own;  // the variant's pipeline
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options) : options_(options) {}

  absl::Status Run() {
    KILN_RETURN_IF_ERROR(Load());
    while (!Done()) {
      if (Clock::now() > deadline_) {
        return absl::DeadlineExceededError(
            fmt::format("{}: {} of {} surfaces still draw with the "
                        "whole shader",
                        options_.role, OnWhole(), draws_.size()));
      }
      KILN_RETURN_IF_ERROR(Frame());
    }
    Print({{"event", "done"},
           {"role", options_.role},
           {"frames", frame_},
           {"longest_client_us", longest_client_us_}});
    return absl::OkStatus();
  }

 private:
  absl::Status Load() {
    KILN_ASSIGN_OR_RETURN(const TargetSpec spec,
                          TargetSpec::Parse(options_.target));
    KILN_RETURN_IF_ERROR(pipeline::SelectDriver(spec));
    KILN_ASSIGN_OR_RETURN(program_, LoadProgramFile(options_.program));
    client_ = client::Client::Connect({.socket = options_.socket,
                                       .client_name = options_.role,
                                       .target = options_.target});
    KILN_ASSIGN_OR_RETURN(const Digest program_id, client_->Register(program_));
    KILN_ASSIGN_OR_RETURN(device_, pipeline::Device::Open(spec));
    KILN_RETURN_IF_ERROR(LoadWholeSet(program_id));
    KILN_ASSIGN_OR_RETURN(std::vector<Surface> level,
                          MakeLevel(program_, program_id));
    if (options_.reverse) {
      std::ranges::reverse(level);
    }
    for (Surface& surface : level) {
      draws_.push_back(
          {std::move(surface.name), std::move(surface.key), {}, {}, 0, {}});
    }
    return absl::OkStatus();
  }

  // The loading screen: one whole-shader pipeline per kind, backdrop and blend.
  absl::Status LoadWholeSet(const Digest& program_id) {
    std::map<Digest, VariantKey> missing;
    for (const VariantKey& key : WholeKeys(program_, program_id)) {
      KILN_ASSIGN_OR_RETURN(const Digest id, client_->Request(key));
      missing.emplace(id, key);
    }
    Json costs = Json::object();
    while (!missing.empty()) {
      client_->Poll(nullptr);
      for (auto it = missing.begin(); it != missing.end();) {
        const auto variant = client_->Resolve(it->first);
        if (variant == nullptr) {
          KILN_RETURN_IF_ERROR(CheckNotFailed(it->first, it->second));
          ++it;
          continue;
        }
        KILN_ASSIGN_OR_RETURN(pipeline::CreatedPipeline created,
                              Create(it->first, *variant));
        const VariantKey& key = it->second;
        costs[AxesOf(key)] = CostJson(*variant);
        whole_.emplace(AxesOf(key), std::move(created.pipeline));
        it = missing.erase(it);
      }
      if (Clock::now() > deadline_) {
        return absl::DeadlineExceededError(
            fmt::format("{}: the whole-shader set did not arrive ({})",
                        options_.role, client_->connection().reason));
      }
      std::this_thread::sleep_for(options_.frame_time);
    }
    Print({{"event", "loaded"},
           {"role", options_.role},
           {"device", device_->identity().device_name},
           {"whole", costs}});
    return absl::OkStatus();
  }

  absl::Status CheckNotFailed(const Digest& id, const VariantKey& key) {
    const client::VariantStatus status = client_->StateOf(id);
    if (status.state == client::VariantState::kFailed) {
      return absl::FailedPreconditionError(
          fmt::format("{}: {}\n{}", KeyLabel(program_, key), status.message,
                      status.diagnostics));
    }
    return absl::OkStatus();
  }

  static std::string AxesOf(const VariantKey& key) {
    return fmt::format("{}/{}/{}", key.kind, key.backdrop, key.blend);
  }

  static Json CostJson(const client::ReadyVariant& variant) {
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

  absl::StatusOr<pipeline::CreatedPipeline> Create(
      const Digest& id, const client::ReadyVariant& variant) {
    KILN_ASSIGN_OR_RETURN(pipeline::CreatedPipeline created,
                          client::CreatePipeline(program_, variant, *device_));
    client_->ReportFeedback(id, client::ToFeedback(created.feedback),
                            std::chrono::microseconds(created.create_us));
    return created;
  }

  // One frame: adopt what has arrived, then draw everything in view.
  absl::Status Frame() {
    const Clock::time_point start = Clock::now();
    const Clock::time_point next = start + options_.frame_time;
    client_->Poll(nullptr);
    ++frame_;
    const size_t in_view = std::min<size_t>(
        draws_.size(), 1 + frame_ / std::max(1u, options_.frames_per_surface));
    for (size_t i = 0; i < in_view; ++i) {
      KILN_RETURN_IF_ERROR(DrawSurface(draws_[i]));
    }
    if (frame_ % 10 == 0) {
      Print({{"event", "frame"},
             {"role", options_.role},
             {"frame", frame_},
             {"in_view", in_view},
             {"on_whole", OnWhole()},
             {"connection",
              client::ConnectionStateText(client_->connection().state)}});
    }
    std::this_thread::sleep_until(next);
    return absl::OkStatus();
  }

  absl::Status DrawSurface(Draw& draw) {
    if (draw.own) {
      return absl::OkStatus();  // drawn with its own pipeline
    }
    const Clock::time_point start = Clock::now();
    if (!draw.key_id) {
      draw.asked_at = start;
      KILN_ASSIGN_OR_RETURN(draw.key_id, client_->Request(draw.key));
    }
    const auto variant = client_->Resolve(*draw.key_id);
    longest_client_us_ =
        std::max(longest_client_us_, Microseconds(Clock::now() - start));
    if (variant == nullptr) {
      ++draw.frames_on_whole;  // drawn with whole_[AxesOf(draw.key)]
      return CheckNotFailed(*draw.key_id, draw.key);
    }
    KILN_ASSIGN_OR_RETURN(pipeline::CreatedPipeline created,
                          Create(*draw.key_id, *variant));
    Json line = CostJson(*variant);
    line.update(
        {{"event", "variant"},
         {"role", options_.role},
         {"surface", draw.surface},
         {"key", draw.key_id->Hex()},
         {"label", variant->label},
         {"axes", AxesOf(draw.key)},
         {"asked_at_us", Microseconds(draw.asked_at.time_since_epoch())},
         {"waited_us", Microseconds(Clock::now() - draw.asked_at)},
         {"frames_on_whole", draw.frames_on_whole},
         {"feedback", pipeline::HitFeedbackText(created.feedback)},
         {"create_us", created.create_us}});
    Print(line);
    draw.own = std::move(created.pipeline);
    return absl::OkStatus();
  }

  size_t OnWhole() const {
    return static_cast<size_t>(std::ranges::count_if(
        draws_, [](const Draw& draw) { return !draw.own.has_value(); }));
  }

  bool Done() const { return !draws_.empty() && OnWhole() == 0; }

  const EngineOptions& options_;
  const Clock::time_point deadline_ = Clock::now() + options_.deadline;
  Program program_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<pipeline::Device> device_;
  std::map<std::string, pipeline::Pipeline> whole_;  // by AxesOf
  std::vector<Draw> draws_;
  uint64_t frame_ = 0;
  int64_t longest_client_us_ = 0;
};

}  // namespace

absl::Status RunEngine(const EngineOptions& options) {
  return Engine(options).Run();
}

}  // namespace kiln::demo
