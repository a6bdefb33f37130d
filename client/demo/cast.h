// SPDX-License-Identifier: Apache-2.0
#pragma once

// The processes that the demonstration plays with, all in its private folder:
// one kilnd at a time, and engines. The program's sources are a copy, too,
// which is kilnd's search root "scene".

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/demo/child.h"
#include "client/demo/demonstration.h"

namespace kiln::demo {

// Thread-compatible. Requires: the options outlive it.
class Cast {
 public:
  explicit Cast(const DemonstrationOptions& options);

  // The folder of the copied sources.
  const std::filesystem::path& scene() const { return scene_; }

  // Copies the sources. Errors: NotFound.
  absl::Status CopyScene() const;

  // Starts kilnd on the state folder and waits until it answers.
  absl::StatusOr<std::unique_ptr<Child>> StartDaemon() const;

  // Stops what StartDaemon has started. Errors: Internal when it did not end
  // well.
  absl::Status StopDaemon(Child& daemon) const;

  // Starts an engine; `arguments` are beside role, socket, target and program.
  absl::StatusOr<std::unique_ptr<Child>> StartEngine(
      const std::string& role, const std::vector<std::string>& arguments) const;

  // Waits until an engine ends by itself, or because it was told to.
  // Errors: Internal when it failed.
  absl::Status AwaitEnd(const std::string& role, Child& engine) const;

  // kilnd's counters by name.
  absl::StatusOr<std::map<std::string, uint64_t>> Counters() const;

  // By pid of each of kilnd's workers, which do nothing but compile: how long
  // it has been running or waiting for a processor. 0 where the kernel does not
  // tell.
  absl::StatusOr<std::map<uint32_t, std::chrono::nanoseconds>> WorkerTimes()
      const;

 private:
  const DemonstrationOptions& options_;
  const std::string socket_;
  const std::filesystem::path scene_;
};

}  // namespace kiln::demo
