// SPDX-License-Identifier: Apache-2.0
#pragma once

// The daemon's socket: bound by us, not by gRPC, so that a peer's credentials
// are read before a byte of its is (DESIGN D2), a live daemon's socket is never
// taken (KNOWN_FAULTS 8), and what is not gRPC gets an answer a person can
// read.

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/counters.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace kiln::daemon {

// Confined to the io thread, except construction.
class Listener {
 public:
  // Takes over the accepted, non-blocking, close-on-exec descriptor.
  using OnConnection = std::function<void(int fd)>;
  // The socket file was replaced by somebody else's; the daemon should stop.
  using OnLost = std::function<void(absl::Status)>;

  // Makes the folder if needed, takes <path>.lock, replaces a stale socket
  // file and listens. The socket and a new folder are private to the user
  // whatever the umask was.
  // Errors: InvalidArgument for a path that is too long, AlreadyExists naming
  // the other daemon's pid, FailedPrecondition when something that is not a
  // socket is at the path (left as it is), PermissionDenied otherwise.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(
      boost::asio::io_context& io, const std::string& path, Counters& counters,
      OnConnection on_connection, OnLost on_lost);

  virtual ~Listener() = default;

  // Stops accepting and removes the socket file if it is still ours.
  virtual void Stop() = 0;
};

}  // namespace kiln::daemon
