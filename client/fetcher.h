// SPDX-License-Identifier: Apache-2.0
#pragma once

// Fetches artifacts without holding up the thread that asks: several
// GetArtifact calls at once on gRPC's threads. The checks (SHA-256) run on the
// asking thread, in `Take`. Internal; engines use client.h.

#include <chrono>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/variant.h"
#include "client/wakeup.h"
#include "proto/digest.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace kiln::client {

// Confined to the thread that made it. Lifetime: `wakeup` outlives it.
class Fetcher {
 public:
  // The calls that may be in flight; more wait for their turn elsewhere. Each
  // holds one artifact in memory, and a local daemon is no faster with more.
  static constexpr size_t kInFlight = 4;

  struct Result {
    Digest key_id;
    absl::StatusOr<Delivery> delivery;
  };

  Fetcher(const std::shared_ptr<grpc::Channel>& channel, const Digest& target,
          std::chrono::milliseconds timeout, Wakeup* wakeup);

  // Cancels what is in flight; needs no answer from the peer.
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;  // gRPC holds its calls' addresses
  Fetcher& operator=(const Fetcher&) = delete;

  bool full() const;

  // Starts one call, for the artifact stored under `stored_as`. Its result
  // carries `key_id`. Requires: !full().
  void Start(const Digest& key_id, const Digest& stored_as);

  // What has arrived since the last call, checked; DataLoss for what is not
  // what it says it is.
  std::vector<Result> Take();

 private:
  class Call;
  struct Shared;

  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Call>> calls_;
};

}  // namespace kiln::client
