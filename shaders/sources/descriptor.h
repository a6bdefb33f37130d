// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>

namespace kiln::sources {

// Owns one file descriptor, or none. Thread-compatible.
class Descriptor {
 public:
  Descriptor() = default;

  // Owns: `number`; negative: none.
  explicit Descriptor(int number) : number_(number) {}

  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)) {}

  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  Descriptor(const Descriptor&) = delete;  // one owner
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }

  int get() const { return number_; }

  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

}  // namespace kiln::sources
