// SPDX-License-Identifier: Apache-2.0
#pragma once

// The unary half of the wire contract as typed, blocking calls on a Unix
// socket: what the `kiln` command and the client's background thread are made
// of. Not for an engine's threads: every call blocks; see client.h. The
// bidirectional stream is in stream.h.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
class ExplainRequest;
class ExplainResponse;
class GetStatusResponse;
class ListFailuresResponse;
class ListRootsResponse;
class ListSurfacesResponse;
class ListVariantsResponse;
class RegisterSurfaceResponse;
}  // namespace kiln::v1

namespace kiln::client {

struct RpcOptions {
  std::string socket;                // path of the daemon's socket
  std::string client_name = "kiln";  // for the daemon's logs and status
  // Deadline of all calls but those below.
  // Shorter: a busy daemon looks frozen. Longer: a frozen one is noticed later.
  std::chrono::milliseconds timeout{5000};
  // Deadline of the calls that wait for a driver, move megabytes or walk
  // folders: OpenSession, GetArtifact, GetModule, Explain and ListRoots.
  // RegisterProgram has 5 s and more by its size.
  std::chrono::milliseconds slow_timeout{30000};
  // Deadline of RegisterSurface, which waits for a compile and for those that
  // are queued before it. kilnd gives each a minute, unless told otherwise.
  std::chrono::milliseconds compile_timeout{180000};
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
  // Pages as ListVariants.
  absl::StatusOr<v1::ListFailuresResponse> ListFailures(
      std::string_view page_token);

  // `key_prefix`: empty for every key. Returns: how many were lifted.
  absl::StatusOr<uint32_t> LiftFailures(std::string_view key_prefix);

  absl::Status PutTuning(const Digest& target, const Digest& program,
                         const Tuning& tuning);
  absl::StatusOr<Tuning> GetTuning(const Digest& target, const Digest& program);

  // Why a key is not stored, or was compiled. Errors: NotFound when nothing is
  // known of it; InvalidArgument for a prefix that fits several.
  absl::StatusOr<v1::ExplainResponse> Explain(
      const v1::ExplainRequest& request);

  // `key`: hexadecimal digits of the key id, at least 4. `target`: none for
  // "whichever has it". Errors: NotFound; DataLoss naming the part that is not
  // what its checksum says.
  absl::StatusOr<Delivery> GetArtifact(std::string_view key,
                                       const Digest& target);

  // One stored SPIR-V module, checked. Errors: NotFound; DataLoss when it is
  // not what `digest` says.
  absl::StatusOr<std::vector<uint32_t>> GetModule(const Digest& digest);

  // The search roots, in order. `with_files`: also what each holds.
  absl::StatusOr<v1::ListRootsResponse> ListRoots(bool with_files);

  // `folder` is absolute and on the daemon's machine; it need not exist yet.
  // `before`: the root to put it before; empty: last. Errors, of all calls that
  // name a root: InvalidArgument for a name that is not printable UTF-8.
  // Returns: whether it was there already, under the same name and folder.
  absl::StatusOr<bool> AddRoot(std::string_view name, std::string_view folder,
                               std::string_view before);
  absl::Status RemoveRoot(std::string_view name);

  // Notes whether a batch precompile has covered these roots.
  absl::Status MarkRoots(std::span<const std::string> names, bool precompiled);

  // User code for a registered program that takes surface shaders. `name` is
  // what diagnostics call it. That it is rejected is an answer, not an error.
  absl::StatusOr<v1::RegisterSurfaceResponse> RegisterSurface(
      const Digest& program, std::string_view name, std::string_view source,
      std::string_view target);
  // Returns: the hash of the program's surfaces without it.
  absl::StatusOr<Digest> RemoveSurface(const Digest& program, uint32_t index);
  absl::StatusOr<v1::ListSurfacesResponse> ListSurfaces(const Digest& program);

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
