// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tells a daemon the surface shaders of this client, one RegisterSurface call
// at a time and, for each program, in order, so that equal engines get equal
// indices. A call that brought no verdict is made again, for as long as it
// takes: the daemon was busy, or the program does not compile just now.
// Internal; engines use client.h.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "client/exchange.h"
#include "client/wakeup.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace kiln::client {

// A surface and what the last daemon said to it.
struct KnownSurface {
  SurfaceRequest request;
  std::optional<SurfaceAnswer> answer;  // none: to this text, nothing yet
  int waiting = 1;       // how many requests the next answer settles
  uint64_t version = 1;  // of the text; one more each time it is replaced
};

// Adds a surface to those that daemons are told. One of the same program and
// name takes the place of the earlier, so that no later daemon sees old text.
void Remember(SurfaceRequest request, std::vector<KnownSurface>& surfaces);

// Whether the outcome of RegisterSurface is the daemon's last word. Not: what
// the transport lost, what took too long, and a program that does not compile.
bool IsVerdict(const absl::Status& status);

// The calls of one connection. Confined to the thread that made it. Lifetime:
// `wakeup` outlives it.
class SurfaceCaller {
 public:
  SurfaceCaller(const std::shared_ptr<grpc::Channel>& channel,
                std::string target, std::chrono::milliseconds timeout,
                Wakeup* wakeup);

  // Cancels what is in flight; needs no answer from the peer.
  ~SurfaceCaller();
  SurfaceCaller(const SurfaceCaller&) = delete;  // gRPC holds its calls
  SurfaceCaller& operator=(const SurfaceCaller&) = delete;

  // Takes the outcome of a call that has ended, and starts the next one, for a
  // surface that this daemon has not judged, if none is running.
  // Returns: the index of a surface and the verdict on its text of now.
  // Requires: `surfaces` are those of the last call, and more at the end.
  std::optional<std::pair<size_t, SurfaceAnswer>> Step(
      const std::vector<KnownSurface>& surfaces);

  // When `Step` has a call to make again; none: not before something happens.
  std::optional<SteadyTime> retry_at() const;

 private:
  class Call;
  struct Shared;

  void StartNext(const std::vector<KnownSurface>& surfaces);

  std::unique_ptr<Shared> shared_;
  std::unique_ptr<Call> call_;
  size_t called_ = 0;             // index of the surface that is in flight
  uint64_t called_version_ = 0;   // of its text
  std::vector<uint64_t> judged_;  // by index, the version; 0: none
  // Programs whose next surface has to wait, and until when.
  absl::flat_hash_map<Digest, SteadyTime> paused_;
};

}  // namespace kiln::client
