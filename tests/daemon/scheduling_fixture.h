// SPDX-License-Identifier: Apache-2.0
#pragma once

// Daemons whose workers stand still at will, so that what is queued can be
// looked at, and the order of compiles does not depend on how fast anything is.

#include <signal.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/v1/kiln.pb.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stream_client.h"
#include "tests/support/targets.h"

namespace kiln::daemon {

// A SmallProgram with so many feature bits, all but two of which no code reads:
// 2^bits keys, each its own compile.
inline Program WideProgram(uint32_t bits) {
  Program program = testing::SmallProgram();
  program.features.clear();
  for (uint32_t bit = 0; bit < bits; ++bit) {
    program.features.push_back(
        {bit, "F" + std::to_string(bit), FeatureOwner::kMaterial});
  }
  return program;
}

class SchedulingTest : public ::testing::Test {
 protected:
  explicit SchedulingTest(
      testing::DaemonProcessOptions options = {{"--workers", "2"}, {}})
      : daemon_(WithoutPressure(std::move(options))) {}

  void SetUp() override {
    ASSERT_OK(daemon_.Start());
    auto id = daemon_.Connect()->RegisterProgram(WideProgram(18));
    ASSERT_OK(id);
    program_ = *id;
  }

  std::unique_ptr<testing::StreamClient> Join() {
    auto client = std::make_unique<testing::StreamClient>(daemon_.socket());
    EXPECT_OK(client->Attach(testing::kVanGogh));
    return client;
  }

  v1::VariantRequest Key(uint32_t features, v1::Urgency urgency,
                         uint64_t request_id) const {
    v1::VariantRequest request =
        testing::MakeRequest(program_, "opaque", features);
    request.set_urgency(urgency);
    request.set_request_id(request_id);
    return request;
  }

  static bool Ask(testing::StreamClient& client,
                  const std::vector<v1::VariantRequest>& requests) {
    v1::ClientMessage message;
    for (const v1::VariantRequest& request : requests) {
      *message.mutable_batch()->add_requests() = request;
    }
    return client.Send(message);
  }

  // Asks for `count` keys from `first` on; request ids are the features.
  bool AskMany(testing::StreamClient& client, uint32_t first, uint32_t count,
               v1::Urgency urgency) const {
    std::vector<v1::VariantRequest> requests;
    for (uint32_t features = first; features < first + count; ++features) {
      requests.push_back(Key(features, urgency, features));
    }
    return Ask(client, requests);
  }

  v1::GetStatusResponse Status() const {
    auto status = daemon_.Connect()->GetStatus();
    EXPECT_OK(status);
    return status.value_or(v1::GetStatusResponse());
  }

  // Waits until the daemon has read, and its queue knows, what `client` sent.
  // Returns: the completions that came meanwhile.
  std::vector<v1::Completion> Barrier(testing::StreamClient& client) {
    v1::ClientMessage ping;
    ping.mutable_ping()->set_number(++pings_);
    EXPECT_TRUE(client.Send(ping));
    std::vector<v1::Completion> completions;
    while (true) {
      auto message = client.Next();
      if (!message.ok()) {
        ADD_FAILURE() << message.status();
        break;
      }
      if (message->has_completion()) {
        completions.push_back(message->completion());
      } else if (message->has_pong() && message->pong().number() == pings_) {
        break;
      }
    }
    Status();  // answered on the io thread, behind what the batch posted there
    return completions;
  }

  // Waits until `workers` of them compile, and stops them all. 0: stops those
  // that are idle, so that what is asked for next stays where it is put.
  void Freeze(size_t workers) {
    ASSERT_TRUE(testing::Eventually([&] {
      const v1::GetStatusResponse status = Status();
      // One that is stopped while it opens would never compile.
      const auto opening = std::ranges::count(status.workers(), "opening",
                                              &v1::WorkerStatus::state);
      if (opening > 0 || status.workers_size() < static_cast<int>(workers)) {
        return false;
      }
      for (const v1::WorkerStatus& worker : status.workers()) {
        kill(static_cast<pid_t>(worker.pid()), SIGSTOP);
      }
      frozen_ = daemon_.Workers();
      const v1::GetStatusResponse now = Status();
      if (now.jobs_running() == workers) {
        return true;
      }
      Thaw();
      return false;
    }));
    AwaitStillness(workers);
  }

  // A worker may have sent its result just before it was stopped: waits until
  // that is read, has led to the next job, and its compile is in the log.
  void AwaitStillness(size_t running) {
    uint64_t seen = ~uint64_t{0};
    ASSERT_TRUE(testing::Eventually([&] {
      Status();  // answered on the io thread, behind what it has read
      const uint64_t started = daemon_.CounterValue("compiles_started");
      return std::exchange(seen, started) == started &&
             Compiled().size() + running == started;
    }));
  }

  void Thaw() {
    for (const pid_t pid : frozen_) {
      kill(pid, SIGCONT);
    }
    frozen_.clear();
  }

  // The feature masks of compiles in the order in which they ended, by the log.
  std::vector<std::string> Compiled() const {
    std::vector<std::string> labels;
    const std::string log = daemon_.Log();
    constexpr std::string_view kStart = "compiled label=\"";
    for (size_t at = log.find(kStart); at != std::string::npos;
         at = log.find(kStart, at)) {
      at += kStart.size();
      labels.push_back(log.substr(at, log.find('"', at) - at));
    }
    return labels;
  }

  // How many compiles ended after the first `skipped` and before `label`'s.
  size_t CompiledBefore(const std::string& label, size_t skipped) const {
    const std::vector<std::string> labels = Compiled();
    for (size_t i = skipped; i < labels.size(); ++i) {
      if (labels[i] == label) {
        return i - skipped;
      }
    }
    ADD_FAILURE() << label << " was not compiled";
    return labels.size();
  }

  // Waits for the answer to one request; drops others.
  static v1::Completion Await(testing::StreamClient& client,
                              uint64_t request_id) {
    while (true) {
      auto message = client.Next();
      if (!message.ok()) {
        ADD_FAILURE() << message.status();
        return {};
      }
      if (message->has_completion() &&
          message->completion().request_id() == request_id) {
        return message->completion();
      }
    }
  }

  // What the machine feels while tests run is not what is tested.
  static testing::DaemonProcessOptions WithoutPressure(
      testing::DaemonProcessOptions options) {
    if (options.environment.empty()) {
      options.environment = {"KILN_PRESSURE=folder=/nowhere"};
    }
    return options;
  }

  testing::DaemonProcess daemon_;
  Digest program_;
  std::vector<pid_t> frozen_;
  uint64_t pings_ = 0;
};

}  // namespace kiln::daemon
