// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the fleet (worker_fleet.h) and the pool know of each worker and of each
// target's workers. Internal to them: plain records without decisions.

#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/worker_pool.h"
#include "daemon/worker_process.h"
#include "proto/digest.h"
#include "proto/target.h"

namespace kiln::daemon {

enum class SlotState : uint8_t { kOpening, kIdle, kCompiling };

inline std::string_view StateText(SlotState state) {
  switch (state) {
    case SlotState::kOpening:
      return "opening";
    case SlotState::kIdle:
      return "idle";
    case SlotState::kCompiling:
      return "compiling";
  }
  return "unknown";
}

// One worker and what it is doing.
struct Slot {
  explicit Slot(boost::asio::io_context& io) : timer(io) {}

  void StopTimer() {
    deadline.reset();
    timer.cancel();
  }

  std::shared_ptr<WorkerProcess> process;
  SlotState state = SlotState::kOpening;
  std::shared_ptr<CompileJob> job;
  uint64_t job_id = 0;
  std::string phase;
  boost::asio::steady_timer timer;  // of the open or the job
  // Alive while the timer counts: a wait that has expired can not be cancelled
  // any more, and its handler may come when slot or job are others.
  std::shared_ptr<int> deadline;
  OpenTargetPtr opened;  // what this worker said it is
  bool timed_out = false;
  bool retired = false;       // on its way out: takes no work, and nobody minds
  std::set<Digest> programs;  // loaded, see kWorkerPrograms
  uint64_t jobs_done = 0;
  std::vector<SandboxLayer> sandbox;
};

using SlotList = std::list<Slot>;

// The workers of one target.
struct TargetWorkers {
  TargetSpec spec;
  OpenTargetPtr open;  // null until the first worker has answered
  std::vector<WorkerPool::OnOpen> waiting;
  SlotList slots;
  // Programs whose front end runs right now: others of theirs wait for it.
  std::set<Digest> in_front_end;
  // Workers killed from outside since the last one that opened.
  uint32_t lost_while_opening = 0;
  // No worker could be opened while others were at work: none is started until
  // those have gone or one has opened.
  bool open_failed = false;
};

}  // namespace kiln::daemon
