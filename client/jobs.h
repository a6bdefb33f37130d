// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where each key that is not settled yet stands, as the background thread
// sees it. No I/O and no threads, so every path is tested alone.
//
//   wanted --FillBatch--> sent --Completed--> arriving --Delivered--> settled
//     ^                    |                     |
//     '--- Restart, Retry -+---------------------'
//
// Internal; engines use client.h.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/exchange.h"
#include "client/variant.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/digest.h"

namespace kiln::client {

// Confined to the client's background thread.
class Jobs {
 public:
  // A delivery that fails its checks is fetched again this often.
  static constexpr int kDeliveries = 3;

  // A key that will not become ready.
  struct Failure {
    Digest id;
    std::string label;
    std::string message;
    std::string diagnostics;
  };

  void Want(KeyRequest request);

  // Every unsettled key is wanted again: a new stream knows nothing of it.
  void Restart();

  // Puts keys that the daemon could not take for now back among the wanted.
  void Retry();

  bool has_retries() const { return !later_.empty(); }

  // Moves wanted keys into `batch`, up to the contract's limits.
  // Returns: false when there was nothing to send.
  bool FillBatch(v1::ClientMessage_Batch* batch);

  // Takes note of a completion; one of an unknown request is ignored.
  // Returns: the failure, if that is what it is.
  std::optional<Failure> Completed(const v1::Completion& completion);

  // Returns: the next key whose artifact should be fetched.
  std::optional<Digest> NextArrival();

  // The key id that the artifact of `id` is stored under: `id`, unless kilnd
  // left out overrides that no code reads. Requires: `id` is unsettled.
  Digest StoredAs(const Digest& id) const;

  struct Settled {
    std::optional<Failure> failure;
    std::shared_ptr<ReadyVariant> variant;  // null: failed, or not settled
  };

  // Takes note of what a fetch brought. Not settled: to be fetched again, or,
  // if the transport failed, asked for again by the next `Restart`.
  Settled Delivered(const Digest& id, absl::StatusOr<Delivery> delivery,
                    const Digest& target);

  // Gives up every key of a program that the daemon refused.
  std::vector<Failure> DropProgram(const Digest& program,
                                   const std::string& message);

  size_t unsettled() const { return jobs_.size(); }

 private:
  struct Job {
    VariantKey key;
    std::string label;
    Digest stored_as;
    Origin origin = Origin::kCompiled;
    int bad_deliveries = 0;
  };

  Failure Fail(const Digest& id, std::string message, std::string diagnostics);

  absl::flat_hash_map<Digest, Job> jobs_;
  // Each unsettled key is in exactly one of these four, or being fetched.
  std::deque<Digest> wanted_;
  absl::flat_hash_map<uint64_t, Digest> sent_;  // by request id
  std::deque<Digest> arriving_;
  std::vector<Digest> later_;
  uint64_t next_request_id_ = 1;
};

}  // namespace kiln::client
