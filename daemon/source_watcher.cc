// SPDX-License-Identifier: Apache-2.0
#include "daemon/source_watcher.h"

#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <spdlog/spdlog.h>

#include "daemon/change_burst.h"
#include "daemon/source_tree.h"

namespace kiln::daemon {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

// How much of the kernel's queue is taken before others have their turn.
constexpr int kReadsInARow = 16;

}  // namespace

class SourceWatcher::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::io_context& io, const SourceWatchOptions& options,
        OnChange on_change)
      : io_(io),
        options_(options),
        on_change_(std::move(on_change)),
        burst_(options),
        tree_(options, burst_, counters_),
        burst_timer_(io),
        poll_timer_(io) {}

  void Watch(std::vector<std::filesystem::path> folders) {
    if (stopped_) {
      return;
    }
    const bool is_new = tree_.SetRoots(std::move(folders));
    if (!tree_.has_roots()) {
      Close();
      polling_ = false;
    } else if (tree_.is_open()) {
      GoOn(tree_.FollowRoots());
    } else if (is_new) {
      Open();  // also when it polls: these may be fewer
    }
  }

  void Stop() {
    stopped_ = true;
    Close();
    burst_timer_.cancel();
    poll_timer_.cancel();
  }

  SourceWatchCounters counters() const {
    SourceWatchCounters counters = counters_;
    counters.folders = tree_.size();
    counters.polling = polling_;
    return counters;
  }

 private:
  void Open() {
    Close();
    polling_ = false;
    absl::Status status = tree_.Open();
    if (status.ok()) {
      ErrorCode error;
      readable_.emplace(io_).assign(tree_.descriptor(), error);
      if (error) {
        status = absl::ResourceExhaustedError(error.message());
      } else {
        AwaitEvents();
      }
    }
    GoOn(status);
  }

  void Close() {
    ++generation_;
    if (readable_) {
      readable_->release();  // cancels its wait; the tree closes it
      readable_.reset();
    }
    tree_.Close();
  }

  // After everything that may have changed the tree, with how that went.
  void GoOn(const absl::Status& status) {
    if (!status.ok()) {
      PollInstead({status.message().data(), status.message().size()});
    } else if (tree_.is_behind()) {
      WalkLater();
    }
    if (tree_.is_unsure()) {
      PollLater();
    }
    ArmBurst();
  }

  void PollInstead(std::string_view why) {
    Close();
    polling_ = true;
    if (!std::exchange(warned_, true)) {
      spdlog::warn("sources are polled every_ms={} limit={} reason=\"{}\"",
                   options_.poll.count(), options_.watch_limit, why);
    }
    burst_.AddEverything();
    PollLater();
  }

  // The burst at the end makes up for changes in folders that waited.
  void WalkLater() {
    if (std::exchange(walk_posted_, true)) {
      return;
    }
    asio::post(io_, [self = shared_from_this()] {
      self->walk_posted_ = false;
      if (!self->tree_.is_open()) {
        return;
      }
      const absl::Status status = self->tree_.Walk();
      if (!self->tree_.is_behind()) {
        self->burst_.AddEverything();
      }
      self->GoOn(status);
    });
  }

  void AwaitEvents() {
    readable_->async_wait(
        asio::posix::stream_descriptor::wait_read,
        [self = shared_from_this(), generation = generation_](ErrorCode error) {
          if (error || generation != self->generation_) {
            return;
          }
          self->TakeEvents();
          if (generation == self->generation_) {
            self->AwaitEvents();
          }
        });
  }

  void TakeEvents() {
    absl::StatusOr<bool> taken = tree_.is_open();
    for (int reads = 0; reads < kReadsInARow && taken.ok() && *taken; ++reads) {
      taken = tree_.TakeEvents();
    }
    GoOn(taken.status());
  }

  void ArmBurst() {
    if (!burst_.started() || stopped_) {
      return;
    }
    burst_timer_.expires_at(burst_.end());
    burst_timer_.async_wait([self = shared_from_this()](ErrorCode error) {
      if (!error) {
        self->OnBurstTimer();
      }
    });
  }

  void OnBurstTimer() {
    if (stopped_ || !burst_.started()) {
      return;
    }
    TakeEvents();  // lest a late timer parts what belongs together
    if (ChangeBurst::Clock::now() >= burst_.end()) {
      EndBurst();
    }
  }

  void EndBurst() {
    burst_timer_.cancel();
    const SourceChange change = burst_.Take();
    if (tree_.has_gaps()) {
      Open();  // folders may have come without a word
    }
    ++counters_.bursts;
    on_change_(change);
  }

  void PollLater() {
    if (std::exchange(poll_pending_, true)) {
      return;
    }
    poll_timer_.expires_after(options_.poll);
    poll_timer_.async_wait([self = shared_from_this()](ErrorCode error) {
      self->poll_pending_ = false;
      if (!error) {
        self->OnPollTimer();
      }
    });
  }

  void OnPollTimer() {
    if (stopped_) {
      return;
    }
    if (polling_) {
      PollLater();
      ++counters_.polls;
      SourceChange change;
      change.everything = true;
      on_change_(change);
    } else if (tree_.is_unsure()) {
      GoOn(tree_.FollowRoots());
    }
  }

  asio::io_context& io_;
  const SourceWatchOptions options_;
  const OnChange on_change_;
  SourceWatchCounters counters_;
  ChangeBurst burst_;
  SourceTree tree_;
  // Waits on the tree's descriptor.
  std::optional<asio::posix::stream_descriptor> readable_;
  // Tells waits on an earlier descriptor from those on this one.
  uint64_t generation_ = 0;
  asio::steady_timer burst_timer_;
  asio::steady_timer poll_timer_;
  bool walk_posted_ = false;
  bool poll_pending_ = false;
  bool polling_ = false;
  bool warned_ = false;
  bool stopped_ = false;
};

SourceWatcher::SourceWatcher(asio::io_context& io, SourceWatchOptions options,
                             OnChange on_change)
    : state_(std::make_shared<State>(io, options, std::move(on_change))) {}

SourceWatcher::~SourceWatcher() {
  state_->Stop();
}

void SourceWatcher::Watch(std::vector<std::filesystem::path> folders) {
  state_->Watch(std::move(folders));
}

void SourceWatcher::Stop() {
  state_->Stop();
}

SourceWatchCounters SourceWatcher::counters() const {
  return state_->counters();
}

}  // namespace kiln::daemon
