// SPDX-License-Identifier: Apache-2.0
#include "client/demo/engine.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "client/client.h"
#include "client/demo/drawable.h"
#include "client/demo/engine_lines.h"
#include "client/demo/level.h"
#include "client/vulkan/adapter.h"
#include "proto/program_file.h"
#include "proto/status_macros.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::demo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kFramesPerLine = 10;

class Engine {
 public:
  explicit Engine(const EngineOptions& options)
      : options_(options), lines_(options.role, program_) {}

  absl::Status Run() {
    KILN_RETURN_IF_ERROR(Load());
    KILN_RETURN_IF_ERROR(LoadWholeSet());
    while (!Stopped() && (options_.live || !settled_)) {
      KILN_RETURN_IF_ERROR(Frame());
    }
    lines_.Done(frame_, longest_client_us_);
    return absl::OkStatus();
  }

 private:
  absl::Status Load() {
    KILN_ASSIGN_OR_RETURN(const TargetSpec spec,
                          TargetSpec::Parse(options_.target));
    KILN_RETURN_IF_ERROR(pipeline::SelectDriver(spec));
    KILN_ASSIGN_OR_RETURN(
        program_,
        LoadProgramFile(options_.program,
                        {.rooted = options_.rooted || options_.live}));
    client_ = client::Client::Connect({.socket = options_.socket,
                                       .client_name = options_.role,
                                       .target = options_.target});
    KILN_ASSIGN_OR_RETURN(const Digest program_id, client_->Register(program_));
    KILN_ASSIGN_OR_RETURN(device_, pipeline::Device::Open(spec));
    for (VariantKey& key : WholeKeys(program_, program_id)) {
      whole_.push_back({"", std::move(key)});
    }
    KILN_ASSIGN_OR_RETURN(std::vector<Surface> level,
                          MakeLevel(program_, program_id));
    if (options_.reverse) {
      std::ranges::reverse(level);
    }
    for (Surface& surface : level) {
      surfaces_.push_back({std::move(surface.name), std::move(surface.key)});
    }
    return absl::OkStatus();
  }

  // The loading screen: one whole-shader pipeline per kind, backdrop and blend.
  absl::Status LoadWholeSet() {
    for (Drawable& whole : whole_) {
      KILN_RETURN_IF_ERROR(Ask(whole));
    }
    while (Unanswered(whole_) > 0) {
      if (Stopped()) {
        return absl::OkStatus();
      }
      if (Clock::now() > deadline_) {
        return absl::DeadlineExceededError(
            fmt::format("{}: the whole-shader set did not arrive ({})",
                        options_.role, client_->connection().reason));
      }
      KILN_RETURN_IF_ERROR(AdoptNews());
      std::this_thread::sleep_for(options_.frame_time);
    }
    EngineLines::WholeSet loaded;
    for (const Drawable& whole : whole_) {
      loaded.emplace_back(&whole, client_->Resolve(*whole.id));
    }
    lines_.Loaded(device_->identity().device_name, loaded);
    return absl::OkStatus();
  }

  // One frame: adopt what has arrived, then draw everything in view.
  absl::Status Frame() {
    const Clock::time_point next = Clock::now() + options_.frame_time;
    KILN_RETURN_IF_ERROR(AdoptNews());
    ++frame_;
    const size_t in_view = std::min<size_t>(
        surfaces_.size(),
        1 + frame_ / std::max(1u, options_.frames_per_surface));
    for (size_t i = 0; i < in_view; ++i) {
      KILN_RETURN_IF_ERROR(Draw(surfaces_[i]));
    }
    const size_t on_whole = Unanswered(surfaces_);
    if (frame_ % kFramesPerLine == 0) {
      lines_.Frame(frame_, in_view, on_whole,
                   client::ConnectionStateText(client_->connection().state));
    }
    if (on_whole == 0 && !std::exchange(settled_, true) && options_.live) {
      lines_.Settled(frame_);
    }
    if (!settled_ && Clock::now() > deadline_) {
      return absl::DeadlineExceededError(
          fmt::format("{}: {} of {} surfaces still draw with the whole shader",
                      options_.role, on_whole, surfaces_.size()));
    }
    std::this_thread::sleep_until(next);
    return absl::OkStatus();
  }

  absl::Status Draw(Drawable& surface) {
    if (!surface.id) {
      KILN_RETURN_IF_ERROR(Ask(surface));
    }
    if (!surface.pipeline) {
      ++surface.frames_on_whole;  // drawn with the one of `whole_`
    }
    return absl::OkStatus();
  }

  absl::Status Ask(Drawable& drawable) {
    drawable.asked_at = Clock::now();
    KILN_ASSIGN_OR_RETURN(drawable.id, client_->Request(drawable.key));
    NoteClientTime(drawable.asked_at);
    return Adopt(drawable);  // another surface may have asked for the same
  }

  // The frame boundary: what arrives becomes visible here and nowhere else.
  absl::Status AdoptNews() {
    events_.clear();
    const Clock::time_point start = Clock::now();
    const bool news = client_->Poll(&events_);
    NoteClientTime(start);
    for (const client::Event& event : events_) {
      if (event.kind == client::Event::Kind::kProgramRefused) {
        return absl::FailedPreconditionError(event.message);
      }
    }
    for (std::vector<Drawable>* drawables : {&whole_, &surfaces_}) {
      for (Drawable& drawable : *drawables) {
        if (news && drawable.id) {
          KILN_RETURN_IF_ERROR(Adopt(drawable));
        }
      }
    }
    return absl::OkStatus();
  }

  // Brings a drawable to what the client knows of its key.
  absl::Status Adopt(Drawable& drawable) {
    const client::VariantStatus status = client_->StateOf(*drawable.id);
    if (status.generation != drawable.generation) {
      drawable.generation = status.generation;
      KILN_RETURN_IF_ERROR(Swap(drawable));
    }
    std::string problem = status.message.empty()
                              ? ""
                              : status.message + "\n" + status.diagnostics;
    if (problem == drawable.problem) {
      return absl::OkStatus();
    }
    if (!options_.live) {
      return absl::FailedPreconditionError(problem);
    }
    drawable.problem = std::move(problem);
    if (drawable.problem.empty()) {
      lines_.Recovered(drawable);
    } else {
      lines_.Error(drawable, status.message, status.diagnostics);
    }
    return absl::OkStatus();
  }

  // The old pipeline is drawn with until the new one is there. An engine with a
  // GPU keeps it for the frames in flight, too.
  absl::Status Swap(Drawable& drawable) {
    const auto variant = client_->Resolve(*drawable.id);
    KILN_ASSIGN_OR_RETURN(pipeline::CreatedPipeline created,
                          client::CreatePipeline(program_, *variant, *device_));
    client_->ReportFeedback(*drawable.id, client::ToFeedback(created.feedback),
                            std::chrono::microseconds(created.create_us));
    if (created.pipeline.vk_pipeline() != nullptr) {
      drawable.pipeline = std::move(created.pipeline);
    }
    if (drawable.generation > 1) {
      lines_.Reloaded(drawable, *variant, created, frame_);
    } else if (!drawable.surface.empty()) {
      lines_.FirstVariant(drawable, *variant, created);
    }
    return absl::OkStatus();
  }

  static size_t Unanswered(const std::vector<Drawable>& drawables) {
    return static_cast<size_t>(
        std::ranges::count(drawables, 0u, &Drawable::generation));
  }

  bool Stopped() const { return options_.stop != nullptr && *options_.stop; }

  void NoteClientTime(Clock::time_point start) {
    longest_client_us_ =
        std::max<int64_t>(longest_client_us_,
                          std::chrono::duration_cast<std::chrono::microseconds>(
                              Clock::now() - start)
                              .count());
  }

  const EngineOptions& options_;
  const Clock::time_point deadline_ = Clock::now() + options_.deadline;
  Program program_;
  const EngineLines lines_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<pipeline::Device> device_;
  std::vector<Drawable> whole_;
  std::vector<Drawable> surfaces_;
  std::vector<client::Event> events_;
  bool settled_ = false;  // every surface has had a variant of its own
  uint64_t frame_ = 0;
  int64_t longest_client_us_ = 0;
};

}  // namespace

absl::Status RunEngine(const EngineOptions& options) {
  return Engine(options).Run();
}

}  // namespace kiln::demo
