// SPDX-License-Identifier: Apache-2.0
#include "client/cli/await.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "client/cli/interrupt.h"
#include "proto/status_macros.h"

namespace kiln::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{100};
// A daemon silent for this long is asked whether it is still there.
constexpr std::chrono::seconds kSilence{5};

}  // namespace

absl::Status AwaitCompletions(client::BlockingSession& session,
                              const AwaitOptions& options) {
  const Clock::time_point start = Clock::now();
  Clock::time_point heard = start;
  std::vector<bool> answered(options.count);
  size_t done = 0;
  while (done < options.count) {
    if (Interrupted()) {
      return absl::AbortedError("interrupted");
    }
    if (options.timeout.count() > 0 && Clock::now() - start > options.timeout) {
      return absl::OutOfRangeError(fmt::format(
          "{} of {} variants not ready after {} ms; kilnd goes on compiling",
          options.count - done, options.count, options.timeout.count()));
    }
    if (options.on_tick) {
      options.on_tick();
    }
    if (options.send_more) {
      KILN_RETURN_IF_ERROR(options.send_more());
    }
    std::vector<v1::Completion> completions;
    if (Clock::now() - heard > kSilence) {
      KILN_ASSIGN_OR_RETURN(completions, session.CompletedBeforePong());
      heard = Clock::now();
    } else {
      KILN_ASSIGN_OR_RETURN(std::optional<v1::Completion> next,
                            session.Next(Clock::now() + kTick));
      if (next) {
        completions.push_back(*std::move(next));
        heard = Clock::now();
      }
    }
    for (const v1::Completion& completion : completions) {
      const uint64_t index = completion.request_id() - options.first;
      if (index < answered.size() && !answered[index]) {
        answered[index] = true;
        ++done;
        options.on_completion(completion);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace kiln::cli
