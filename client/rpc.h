// SPDX-License-Identifier: Apache-2.0
#pragma once

// The unary half of the wire contract as typed, blocking calls on a Unix
// socket: what the `kiln` command and the client's background thread are made
// of. Not for an engine's threads: every call blocks; see client.h. The
// bidirectional stream is in stream.h.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/variant.h"
#include "proto/artifact.h"
#include "proto/bytes.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "proto/target.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace kiln::v1 {
class GetStatusResponse;
class ListVariantsResponse;
}  // namespace kiln::v1

namespace kiln::client {

struct RpcOptions {
  std::string socket;                // path of the daemon's socket
  std::string client_name = "kiln";  // for the daemon's logs and status
  // Deadline of Handshake, GetStatus, ListVariants and the tuning calls.
  // Shorter: a busy daemon looks frozen. Longer: a frozen one is noticed later.
  std::chrono::milliseconds timeout{5000};
  // Deadline of the calls that wait for a driver or move megabytes:
  // OpenSession and GetArtifact. RegisterProgram has 5 s and more by its size.
  std::chrono::milliseconds slow_timeout{30000};
};

struct DaemonInfo {
  uint32_t protocol_version = 0;
  std::string daemon_version;
  uint32_t pid = 0;
};

struct Session {
  uint64_t id = 0;
  std::string target_spec;
  Digest target;  // TargetIdentity::Id() of `identity`
  TargetIdentity identity;
};

// One connection to a daemon. Its channel is its own: closing it closes the
// socket. Thread-safe.
//
// Every call has a deadline and `Errors:` Unavailable when there is no daemon
// (the text names the socket and why), DeadlineExceeded when it does not
// answer in time, Cancelled after `CancelAll`, and what kiln.proto states.
class RpcClient {
 public:
  // Touches neither socket nor network.
  // Errors: InvalidArgument for a socket path over the limit.
  static absl::StatusOr<std::unique_ptr<RpcClient>> Create(RpcOptions options);

  ~RpcClient();
  RpcClient(const RpcClient&) = delete;  // calls in flight refer to it
  RpcClient& operator=(const RpcClient&) = delete;

  // Errors: FailedPrecondition naming both sides' versions.
  absl::StatusOr<DaemonInfo> Handshake();

  // Errors: also DataLoss when the target's digest is not that of its fields.
  absl::StatusOr<Session> OpenSession(std::string_view target);

  // Uploads a valid program in chunks. Returns: its id.
  absl::StatusOr<Digest> RegisterProgram(const Program& program);

  absl::StatusOr<v1::GetStatusResponse> GetStatus();

  // One page; `page_token` is empty or `next_page_token` of the last one.
  absl::StatusOr<v1::ListVariantsResponse> ListVariants(
      std::string_view page_token);

  // The override values that ran fastest on a target, as `kiln tune` found.
  // Errors: NotFound when nothing was remembered.
  absl::Status PutTuning(const Digest& target, const Digest& program,
                         const Tuning& tuning);
  absl::StatusOr<Tuning> GetTuning(const Digest& target, const Digest& program);

  // `key`: hexadecimal digits of the key id, at least 4. `target`: none for
  // "whichever has it". Errors: NotFound; DataLoss naming the part that is not
  // what its checksum says.
  absl::StatusOr<Delivery> GetArtifact(std::string_view key,
                                       const Digest& target);

  // Ends every call in flight, and later ones at once, with Cancelled.
  void CancelAll();

  const RpcOptions& options() const;
  const std::shared_ptr<grpc::Channel>& channel() const;

 private:
  struct Impl;
  explicit RpcClient(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// `status` with the socket and a cause added where the transport, not the
// daemon, is what failed: "no kilnd at '/run/x': connection refused; start it
// with `kilnd`". Blocks: one connect(2), which a Unix socket answers at once.
absl::Status ExplainTransport(const absl::Status& status,
                              std::string_view socket);

}  // namespace kiln::client
