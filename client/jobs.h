// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where each key that was asked for stands, as the background thread sees it.
// No I/O and no threads, so every path is tested alone.
//
//   wanted --FillBatch--> sent --Completed--> arriving --Delivered--> settled
//     ^                    |                     |                       |
//     '--- Restart, Retry -+---------------------'                       |
//     '--- Restart, of a living program <---- Completed again -----------'
//
// A key of a living program is never done: its request is a subscription, and
// each later Completion makes it arrive again. Only what the last one named may
// arrive: a fetch that a failure or another version has overtaken is dropped.
// Shaders, which are asked for by their program alone, go the same way.
//
// What is wanted more urgently is sent first, and no more is in flight than the
// daemon reads (limits::kUnanswered), so that a warm-up never stands between a
// draw and the daemon.
//
// Internal; engines use client.h.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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

  // A shader whose module is to be fetched.
  struct Made {
    Digest program;  // as it was asked for
    Digest module;
    Bytes interface;  // canonical; may be empty
    std::string warnings;
  };

  // A key that is wanted already, or sent, is asked for again if its urgency is
  // another.
  void Want(KeyRequest request);
  void Want(ShaderRequest request);

  // Nobody wants the key any more; the daemon is told, by TakeReleases.
  void Withdraw(const Digest& id);

  // Returns: the requests that nobody waits for since the last call, at most
  // limits::kRequestsPerBatch.
  std::vector<uint64_t> TakeReleases();

  // Every unsettled key is wanted again: a new stream knows nothing of it.
  void Restart();

  // Puts keys that the daemon could not take for now back among the wanted.
  void Retry();

  bool has_retries() const { return !later_.empty(); }

  // Moves wanted keys into `batch`, up to the contract's limits.
  // Returns: false when there was nothing to send.
  bool FillBatch(v1::ClientMessage_Batch* batch);

  // Takes note of a completion. Ignored: one of an unknown request, of one that
  // was asked again since, or of an older generation than the last.
  // Returns: the failure, if that is what it is.
  std::optional<Failure> Completed(const v1::Completion& completion);

  // Returns: the keys and shaders that had failed and are right again, since
  // the last call, with their labels.
  std::vector<std::pair<Digest, std::string>> TakeRecovered();

  // Returns: the next key whose artifact should be fetched.
  std::optional<Digest> NextArrival();

  // Returns: the next shader whose module should be fetched.
  std::optional<Made> NextMade();

  // Takes note of a fetched module. Errors of fetching: `ShaderLost`.
  void ShaderDelivered(const Made& made);
  void ShaderLost(const Digest& program);

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

  // Forgets a shader that nobody wants any more, or will again under another
  // request. A key or an unknown one: nothing happens.
  void Drop(const Digest& program);

  // Gives up every key of a program that the daemon refused.
  std::vector<Failure> DropProgram(const Digest& program,
                                   const std::string& message);

  size_t unsettled() const;

 private:
  struct Job {
    VariantKey key;
    std::string label;
    // What the last answer named; none of a living program after a failure.
    Digest stored_as;
    uint64_t request_id = 0;  // the last one it was asked for by; 0: none
    uint64_t generation = 0;  // the highest that this request was answered by
    Origin origin = Origin::kCompiled;
    int bad_deliveries = 0;
    bool living = false;
    Urgency urgency = Urgency::kOnScreen;
    bool is_shader = false;
    bool queued = false;   // it is among the wanted
    bool settled = false;  // of a living program; others are erased
    bool failing = false;  // the last answer was a failure
    Digest have;           // the key id, or module, delivered last
  };

  // The daemon says what a compiler said once where several keys of a program
  // fail for one reason in a row; the others get it from here.
  struct LastFailure {
    Digest program;
    uint32_t code = 0;
    std::string message;
    std::string diagnostics;
  };

  // True while a fetch may bring something new.
  static bool Awaits(const Job& job);
  std::string DiagnosticsOf(const v1::Failure& failure, const Digest& program);
  Failure Fail(const Digest& id, std::string message, std::string diagnostics);
  void Enter(const Digest& id, Job job);
  // The answer is what there is already.
  void Settle(const Digest& id, Job& job);
  std::optional<Failure> VariantReady(const Digest& id, Job& job,
                                      const v1::Completion& completion);
  std::optional<Failure> ShaderReady(const Digest& id, Job& job,
                                     const v1::FrontEnd& made);

  // What the daemon was asked for.
  struct Sent {
    Digest id;
    bool answered = false;  // of a living program; others are erased
  };

  void PutAmongWanted(const Digest& id, Job& job);
  bool HasRoomFor(Urgency urgency) const;
  void Ask(const Digest& id, Job& job, v1::ClientMessage_Batch* batch,
           size_t* bytes);

  absl::flat_hash_map<Digest, Job> jobs_;
  // Each unsettled key is in exactly one of these four, or being fetched.
  // Wanted: by urgency; entries whose job is not `queued`, or of another
  // urgency, are left from before and skipped.
  std::array<std::deque<Digest>, kUrgencies> wanted_;
  absl::flat_hash_map<uint64_t, Sent> sent_;  // by request id
  size_t unanswered_ = 0;                     // of these
  std::vector<uint64_t> releases_;
  std::deque<Digest> arriving_;
  std::vector<Digest> later_;
  std::deque<Made> made_;
  std::vector<std::pair<Digest, std::string>> recovered_;
  LastFailure last_failure_;  // of this stream, since the last success
  uint64_t next_request_id_ = 1;
};

}  // namespace kiln::client
