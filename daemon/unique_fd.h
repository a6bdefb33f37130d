// SPDX-License-Identifier: Apache-2.0
#pragma once

// The owner of a file descriptor.

#include <unistd.h>

#include <utility>

namespace kiln::daemon {

// Closes its descriptor when it goes. Move-only. Thread-compatible.
class UniqueFd {
 public:
  UniqueFd() = default;

  explicit UniqueFd(int fd) : fd_(fd) {}

  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  ~UniqueFd() { reset(); }

  int get() const { return fd_; }

  bool is_open() const { return fd_ >= 0; }

  int release() { return std::exchange(fd_, -1); }

  void reset() {
    if (fd_ >= 0) {
      close(std::exchange(fd_, -1));
    }
  }

 private:
  int fd_ = -1;
};

}  // namespace kiln::daemon
