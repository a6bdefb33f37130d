// SPDX-License-Identifier: Apache-2.0
#include "client/demo/child.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <thread>

#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/env.hpp>
#include <boost/process/environment.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/io.hpp>
#include <boost/process/pipe.hpp>
#include <fmt/format.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace kiln::demo {
namespace {

namespace process = boost::process;

class ProcessChild final : public Child {
 public:
  ProcessChild(const std::string& binary, const ChildOptions& options,
               std::error_code& error) {
    process::environment environment = boost::this_process::environment();
    for (const std::string& setting : options.environment) {
      const size_t equals = setting.find('=');
      environment[setting.substr(0, equals)] = setting.substr(equals + 1);
    }
    auto start = [&](auto&& errors) {
      child_ = process::child(process::exe(binary),
                              process::args(options.arguments), environment,
                              process::std_out > stdout_, errors, error);
    };
    if (options.stderr_file.empty()) {
      start(process::std_err > stderr);
    } else {
      FILE* file = fopen(options.stderr_file.c_str(), "ae");
      start(process::std_err > file);
      fclose(file);
    }
    if (!error) {
      reader_ = std::thread([this] { ReadLines(); });
    }
  }

  ~ProcessChild() override {
    if (child_.valid() && !reaped_) {
      kill(child_.id(), SIGKILL);
      waitpid(child_.id(), nullptr, 0);
    }
    child_.detach();
    stdout_.pipe().close();
    if (reader_.joinable()) {
      reader_.join();
    }
  }

  pid_t pid() const override { return child_.id(); }

  std::vector<std::string> lines() const override {
    absl::MutexLock lock(&mutex_);
    return lines_;
  }

  bool WaitForLine(const std::function<bool(const std::string&)>& wanted,
                   std::chrono::milliseconds deadline) const override {
    absl::MutexLock lock(&mutex_);
    size_t looked_at = 0;
    bool found = false;
    auto seen = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      for (; looked_at < lines_.size() && !found; ++looked_at) {
        found = wanted(lines_[looked_at]);
      }
      return found || ended_;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&seen), absl::FromChrono(deadline));
    return found;
  }

  void Signal(int signal) override {
    absl::MutexLock lock(&reap_mutex_);
    if (!reaped_) {
      kill(child_.id(), signal);
    }
  }

  absl::StatusOr<int> Wait(std::chrono::milliseconds deadline) override {
    const auto end = std::chrono::steady_clock::now() + deadline;
    while (true) {
      {
        absl::MutexLock lock(&reap_mutex_);
        if (!reaped_) {
          reaped_ = waitpid(child_.id(), &status_, WNOHANG) == child_.id();
        }
        if (reaped_) {
          return WIFEXITED(status_) ? WEXITSTATUS(status_)
                                    : 128 + WTERMSIG(status_);
        }
      }
      if (std::chrono::steady_clock::now() > end) {
        return absl::DeadlineExceededError(
            fmt::format("process {} is still running", child_.id()));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

 private:
  void ReadLines() {
    std::string line;
    while (std::getline(stdout_, line)) {
      absl::MutexLock lock(&mutex_);
      lines_.push_back(line);
    }
    absl::MutexLock lock(&mutex_);
    ended_ = true;
  }

  process::child child_;
  process::ipstream stdout_;
  std::thread reader_;

  mutable absl::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;

  absl::Mutex reap_mutex_;
  bool reaped_ = false;
  int status_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Child>> Child::Start(
    const std::string& binary, const ChildOptions& options) {
  std::error_code error;
  auto child = std::make_unique<ProcessChild>(binary, options, error);
  if (error) {
    return absl::NotFoundError(
        fmt::format("cannot start '{}': {}", binary, error.message()));
  }
  return child;
}

}  // namespace kiln::demo
