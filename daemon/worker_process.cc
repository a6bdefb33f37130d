// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "daemon/unique_fd.h"
#include "daemon/worker/channel.h"
#include "kiln/worker/v1/worker.pb.h"
#include "proto/text.h"

namespace kiln::daemon {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

constexpr size_t kStderrTailBytes = 4096;

// The environment a driver may see: enough to find libraries and ICDs, none of
// the overlay layers or debug switches a user's session may carry (DESIGN 8).
constexpr std::array kPassedVariables = {
    "PATH",          "TMPDIR",          "LD_LIBRARY_PATH",
    "XDG_DATA_DIRS", "VK_DRIVER_FILES", "VK_ICD_FILENAMES",
    "VK_LAYER_PATH", "ASAN_OPTIONS",    "UBSAN_OPTIONS",
    "TSAN_OPTIONS",  "LSAN_OPTIONS",
};

std::vector<std::string> ScrubbedEnvironment() {
  std::vector<std::string> environment = {
      "LANG=C.UTF-8", "VK_LOADER_LAYERS_DISABLE=~implicit~"};
  for (const char* name : kPassedVariables) {
    if (const char* value = getenv(name)) {
      environment.push_back(fmt::format("{}={}", name, value));
    }
  }
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Starts the child with `channel` as descriptor kWorkerChannelFd and `errors`
// as stderr, nothing else inherited. Its process group is its own, so that a
// Ctrl-C meant for the daemon does not look like a crash.
absl::StatusOr<pid_t> SpawnChild(const WorkerSpawnOptions& options, int channel,
                                 int errors) {
  std::vector<std::string> arguments = {
      options.binary,
      "--target",
      options.target,
      "--memory-mb",
      std::to_string(options.memory_mb),
      "--sandbox",
      options.sandbox,
      "--cpu-s",
      std::to_string(options.job_cpu.count())};
  if (options.no_compiler) {
    arguments.emplace_back("--no-compiler");
  }
  if (options.validate) {
    arguments.emplace_back("--validate");
  }
  std::vector<std::string> environment = ScrubbedEnvironment();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                   O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, channel, kWorkerChannelFd);
  posix_spawn_file_actions_addclosefrom_np(&actions, kWorkerChannelFd + 1);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF |
                                            POSIX_SPAWN_SETPGROUP);

  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, options.binary.c_str(), &actions, &attributes,
                  Pointers(arguments).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    const std::string text =
        fmt::format("cannot start worker '{}': {}", ToValidUtf8(options.binary),
                    strerror(error));
    return error == ENOENT ? absl::NotFoundError(text)
                           : absl::PermissionDeniedError(text);
  }
  return pid;
}

WorkerExit DescribeExit(int status, bool killed_by_us) {
  WorkerExit exit;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const bool outside =
        signal == SIGKILL || signal == SIGTERM || signal == SIGINT;
    exit.killed_from_outside = outside && !killed_by_us;
    exit.over_cpu_limit = signal == SIGXCPU;
    exit.cause =
        fmt::format("{} (signal {})", outside ? "killed" : "crashed", signal);
  } else {
    exit.cause = fmt::format("exited with code {}", WEXITSTATUS(status));
  }
  return exit;
}

class SpawnedWorker final : public WorkerProcess,
                            public std::enable_shared_from_this<SpawnedWorker> {
 public:
  SpawnedWorker(asio::io_context& io, pid_t pid, int channel, int errors,
                Callbacks callbacks)
      : pid_(pid),
        channel_(io, asio::local::stream_protocol(), channel),
        errors_(io, errors),
        callbacks_(std::move(callbacks)) {}

  pid_t pid() const override { return pid_; }

  void Start() {
    ReadHeader();
    ReadErrors();
  }

  void Send(const worker::v1::WorkerCommand& command) override {
    outbox_.push_back(FrameMessage(command.SerializeAsString()));
    if (outbox_.size() == 1) {
      WriteNext();
    }
  }

  void Kill() override {
    if (!gone_) {
      killed_by_us_ = true;
      kill(pid_, SIGKILL);
    }
  }

 private:
  void ReadHeader() {
    asio::async_read(channel_, asio::buffer(header_),
                     [self = shared_from_this()](ErrorCode error, size_t) {
                       self->OnHeader(error);
                     });
  }

  void OnHeader(ErrorCode error) {
    const uint32_t size = FrameSize(header_);
    if (error || size > kMaxFrameBytes) {
      killed_by_us_ |= !error;  // it talks nonsense
      Reap();
      return;
    }
    body_.resize(size);
    asio::async_read(channel_, asio::buffer(body_),
                     [self = shared_from_this()](ErrorCode failed, size_t) {
                       self->OnBody(failed);
                     });
  }

  void OnBody(ErrorCode error) {
    worker::v1::WorkerReport report;
    if (error || !report.ParseFromString(body_)) {
      killed_by_us_ |= !error;
      Reap();
      return;
    }
    callbacks_.on_report(report);
    ReadHeader();
  }

  void ReadErrors() {
    errors_.async_read_some(
        asio::buffer(chunk_),
        [self = shared_from_this()](ErrorCode error, size_t size) {
          if (error) {
            return;
          }
          self->KeepErrors({self->chunk_.data(), size});
          self->ReadErrors();
        });
  }

  void KeepErrors(std::string_view text) {
    spdlog::debug("worker stderr pid={} text=\"{}\"", pid_, Shorten(text, 400));
    stderr_tail_.append(text);
    if (stderr_tail_.size() > kStderrTailBytes) {
      stderr_tail_.erase(0, stderr_tail_.size() - kStderrTailBytes);
    }
  }

  void WriteNext() {
    asio::async_write(
        channel_, asio::buffer(outbox_.front()),
        [self = shared_from_this()](ErrorCode error, size_t) {
          self->outbox_.pop_front();
          if (error) {
            self->outbox_.clear();  // the read side reports the end
          } else if (!self->outbox_.empty()) {
            self->WriteNext();
          }
        });
  }

  // The channel has ended: the child is dead, dying or talking nonsense. In
  // the last case it is killed, so waiting for it is short.
  void Reap() {
    if (gone_) {
      return;
    }
    gone_ = true;
    kill(pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    DrainErrors();
    WorkerExit exit = DescribeExit(status, killed_by_us_);
    exit.stderr_tail = ToValidUtf8(stderr_tail_);
    ErrorCode ignored;
    channel_.close(ignored);
    errors_.close(ignored);
    std::exchange(callbacks_, {}).on_exit(exit);
  }

  // What the child wrote just before it died may not have been read yet.
  void DrainErrors() {
    ErrorCode error;
    errors_.non_blocking(true, error);
    while (const size_t size = errors_.read_some(asio::buffer(chunk_), error)) {
      KeepErrors({chunk_.data(), size});
    }
  }

  const pid_t pid_;
  asio::local::stream_protocol::socket channel_;
  asio::posix::stream_descriptor errors_;
  Callbacks callbacks_;
  FrameHeader header_{};
  std::string body_;
  std::array<char, 4096> chunk_{};
  std::string stderr_tail_;
  std::deque<std::string> outbox_;
  bool killed_by_us_ = false;
  bool gone_ = false;
};

}  // namespace

absl::StatusOr<std::shared_ptr<WorkerProcess>> WorkerProcess::Spawn(
    asio::io_context& io, const WorkerSpawnOptions& options,
    Callbacks callbacks) {
  std::array<int, 2> channel{};
  std::array<int, 2> errors{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel.data()) != 0) {
    return absl::ResourceExhaustedError(
        fmt::format("socketpair: {}", strerror(errno)));
  }
  UniqueFd ours(channel[0]);
  UniqueFd theirs(channel[1]);
  if (pipe2(errors.data(), O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(
        fmt::format("pipe: {}", strerror(errno)));
  }
  UniqueFd errors_read(errors[0]);
  UniqueFd errors_write(errors[1]);
  absl::StatusOr<pid_t> pid =
      SpawnChild(options, theirs.get(), errors_write.get());
  if (!pid.ok()) {
    return pid.status();
  }
  auto worker = std::make_shared<SpawnedWorker>(
      io, *pid, ours.release(), errors_read.release(), std::move(callbacks));
  worker->Start();
  return worker;
}

}  // namespace kiln::daemon
