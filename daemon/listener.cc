// SPDX-License-Identifier: Apache-2.0
#include "daemon/listener.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "daemon/instance_lock.h"
#include "proto/socket_path.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::daemon {
namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using ErrorCode = boost::system::error_code;

// What every HTTP/2 client sends first (RFC 9113, section 3.4).
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// How long a peer may take to send it, and how often a part of it is looked at.
constexpr std::chrono::seconds kPrefaceDeadline{10};
constexpr std::chrono::milliseconds kPrefaceRetry{5};
// How often the socket file is checked to be still ours.
constexpr std::chrono::seconds kWatchInterval{1};
// How long to wait for descriptors to come back.
constexpr std::chrono::milliseconds kAcceptPause{100};

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
};

std::optional<Peer> PeerOf(int fd) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return std::nullopt;
  }
  return Peer{credentials.pid, credentials.uid};
}

// A connection until it has shown that it speaks HTTP/2. Owns itself through
// the handlers it has pending.
class Greeting : public std::enable_shared_from_this<Greeting> {
 public:
  Greeting(stream_protocol::socket socket, Peer peer, Counters& counters,
           const Listener::OnConnection& on_connection)
      : timer_(socket.get_executor()),
        socket_(std::move(socket)),
        peer_(peer),
        counters_(counters),
        on_connection_(on_connection),
        deadline_(std::chrono::steady_clock::now() + kPrefaceDeadline) {}

  void Start() {
    timer_.expires_at(deadline_);
    timer_.async_wait([self = shared_from_this()](ErrorCode error) {
      if (!error) {  // said nothing at all
        self->socket_.close(error);
      }
    });
    socket_.async_wait(stream_protocol::socket::wait_read,
                       [self = shared_from_this()](ErrorCode error) {
                         self->timer_.cancel();
                         if (!error) {
                           self->Look();
                         }
                       });
  }

 private:
  // Looks at what has arrived without taking it away from gRPC.
  void Look() {
    std::array<char, kPreface.size()> seen{};
    const ssize_t got = recv(socket_.native_handle(), seen.data(), seen.size(),
                             MSG_PEEK | MSG_DONTWAIT);
    const std::string_view bytes(seen.data(),
                                 got > 0 ? static_cast<size_t>(got) : 0);
    if (got <= 0) {
      return;  // gone again
    }
    if (bytes != kPreface.substr(0, bytes.size())) {
      Refuse(bytes);
    } else if (bytes.size() == kPreface.size()) {
      counters_.Add(Counter::kConnectionsAccepted);
      on_connection_(socket_.release());
    } else if (std::chrono::steady_clock::now() < deadline_) {
      timer_.expires_after(kPrefaceRetry);
      timer_.async_wait([self = shared_from_this()](ErrorCode error) {
        if (!error) {
          self->Look();
        }
      });
    }
  }

  void Refuse(std::string_view bytes) {
    counters_.Add(Counter::kConnectionsRefusedNotGrpc);
    spdlog::warn(
        "connection refused pid={} reason=\"not gRPC\" first_bytes=\"{}\"",
        peer_.pid, Shorten(bytes, 48));
    constexpr std::string_view kAnswer =
        "kilnd: this socket speaks gRPC (HTTP/2); use `kiln`\n";
    // Best effort: the peer may have gone.
    (void)send(socket_.native_handle(), kAnswer.data(), kAnswer.size(),
               MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  asio::steady_timer timer_;
  stream_protocol::socket socket_;
  const Peer peer_;
  Counters& counters_;
  const Listener::OnConnection& on_connection_;
  const std::chrono::steady_clock::time_point deadline_;
};

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

// Makes the socket's folder private to us, and refuses one that another user
// could have prepared (KNOWN_FAULTS 24).
absl::Status PrepareFolder(const std::filesystem::path& folder) {
  const std::string name = ToValidUtf8(folder.string());
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    std::filesystem::create_directories(folder, error);
    if (error) {
      return absl::PermissionDeniedError(fmt::format(
          "cannot create socket folder '{}': {}", name, error.message()));
    }
    chmod(folder.c_str(), 0700);
  }

  struct stat info {};

  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(
        fmt::format("'{}' is not a folder", name));
  }
  const bool trusted_owner = info.st_uid == geteuid() || info.st_uid == 0;
  const bool others_can_write = (info.st_mode & (S_IWOTH | S_IWGRP)) != 0 &&
                                (info.st_mode & S_ISVTX) == 0;
  if (!trusted_owner || others_can_write) {
    return absl::PermissionDeniedError(fmt::format(
        "socket folder '{}' belongs to another user or others may write to it",
        name));
  }
  return absl::OkStatus();
}

// Removes a socket file that nobody listens on.
// Errors: AlreadyExists naming the listener, FailedPrecondition for a file
// that is not a socket.
absl::Status ClearStale(const std::string& path) {
  struct stat info {};

  if (lstat(path.c_str(), &info) != 0) {
    return absl::OkStatus();
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(
        fmt::format("'{}' exists and is not a socket; it was left as it is",
                    ToValidUtf8(path)));
  }
  UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(path);
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) == 0) {
    const std::optional<Peer> peer = PeerOf(probe.get());
    return absl::AlreadyExistsError(
        fmt::format("another process, pid {}, serves on '{}'",
                    peer ? peer->pid : 0, ToValidUtf8(path)));
  }
  spdlog::info("removed stale socket path=\"{}\"", ToValidUtf8(path));
  unlink(path.c_str());
  return absl::OkStatus();
}

class AsioListener final : public Listener {
 public:
  AsioListener(asio::io_context& io, std::string path, InstanceLock lock,
               Counters& counters, OnConnection on_connection, OnLost on_lost)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        counters_(counters),
        on_connection_(std::move(on_connection)),
        on_lost_(std::move(on_lost)),
        acceptor_(io),
        watch_(io),
        accept_pause_(io) {}

  absl::Status Listen() {
    KILN_RETURN_IF_ERROR(ClearStale(path_));
    ErrorCode error;
    acceptor_.open(stream_protocol(), error);
    const mode_t mask = umask(0177);  // the socket is born 0600
    acceptor_.bind(stream_protocol::endpoint(path_), error);
    umask(mask);
    if (!error) {
      acceptor_.listen(SOMAXCONN, error);
    }

    struct stat info {};

    if (error || stat(path_.c_str(), &info) != 0) {
      return absl::PermissionDeniedError(fmt::format(
          "cannot listen on '{}': {}", ToValidUtf8(path_), error.message()));
    }
    inode_ = info.st_ino;
    Accept();
    Watch();
    return absl::OkStatus();
  }

  void Stop() override {
    ErrorCode error;
    watch_.cancel();
    accept_pause_.cancel();
    acceptor_.close(error);
    if (IsOurs()) {
      unlink(path_.c_str());
    }
  }

 private:
  void Accept() {
    acceptor_.async_accept(
        [this](ErrorCode error, stream_protocol::socket socket) {
          if (error == asio::error::operation_aborted) {
            return;
          }
          if (error) {
            AcceptLater(error);
            return;
          }
          accept_failing_ = false;
          Greet(std::move(socket));
          Accept();
        });
  }

  // Out of descriptors or memory: the connection stays in the queue, so that
  // trying again at once would only spin.
  void AcceptLater(ErrorCode error) {
    if (!std::exchange(accept_failing_, true)) {
      spdlog::warn("accept failed error=\"{}\"", error.message());
    }
    accept_pause_.expires_after(kAcceptPause);
    accept_pause_.async_wait([this](ErrorCode cancelled) {
      if (!cancelled) {
        Accept();
      }
    });
  }

  void Greet(stream_protocol::socket socket) {
    const std::optional<Peer> peer = PeerOf(socket.native_handle());
    const bool allowed = peer && peer->uid == geteuid();
    if (!allowed) {
      counters_.Add(Counter::kConnectionsRefusedUser);
      spdlog::warn(
          "connection refused pid={} uid={} reason=\"user not allowed\"",
          peer ? peer->pid : 0, peer ? peer->uid : 0);
      return;
    }
    ErrorCode error;
    socket.non_blocking(true, error);
    socket.native_non_blocking(true, error);
    fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    std::make_shared<Greeting>(std::move(socket), *peer, counters_,
                               on_connection_)
        ->Start();
  }

  bool IsOurs() const {
    struct stat info {};

    return stat(path_.c_str(), &info) == 0 && info.st_ino == inode_;
  }

  // Somebody may remove the socket file (a cleaner of /tmp) or replace it.
  void Watch() {
    watch_.expires_after(kWatchInterval);
    watch_.async_wait([this](ErrorCode error) {
      if (error) {
        return;
      }
      struct stat info {};
      if (lstat(path_.c_str(), &info) != 0) {
        spdlog::warn("socket file vanished, binding again path=\"{}\"",
                     ToValidUtf8(path_));
        acceptor_.close(error);
        if (absl::Status status = Listen(); !status.ok()) {
          on_lost_(std::move(status));
        }
      } else if (!IsOurs()) {
        on_lost_(absl::AbortedError(
            fmt::format("socket '{}' was replaced by another process",
                        ToValidUtf8(path_))));
      } else {
        Watch();
      }
    });
  }

  const std::string path_;
  const InstanceLock lock_;
  Counters& counters_;
  const OnConnection on_connection_;
  const OnLost on_lost_;
  asio::basic_socket_acceptor<stream_protocol> acceptor_;
  asio::steady_timer watch_;
  asio::steady_timer accept_pause_;
  bool accept_failing_ = false;
  ino_t inode_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(
    asio::io_context& io, const std::string& path, Counters& counters,
    OnConnection on_connection, OnLost on_lost) {
  KILN_RETURN_IF_ERROR(CheckSocketPath(path));
  KILN_RETURN_IF_ERROR(
      PrepareFolder(std::filesystem::absolute(path).parent_path()));
  KILN_ASSIGN_OR_RETURN(InstanceLock lock,
                        InstanceLock::Acquire(path + ".lock"));
  auto listener = std::make_unique<AsioListener>(
      io, path, std::move(lock), counters, std::move(on_connection),
      std::move(on_lost));
  KILN_RETURN_IF_ERROR(listener->Listen());
  return listener;
}

}  // namespace kiln::daemon
