// SPDX-License-Identifier: Apache-2.0
#pragma once

// How much this machine stalls for want of CPU, memory or IO (PSI,
// /proc/pressure), and what background compiles do about it. What they may
// take apart from that is worker_pool.h's business.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::daemon {

enum class Backoff : uint8_t {
  kNone = 0,
  kOneAtATime = 1,  // CPU or IO over its limit
  kHold = 2,        // memory over its limit: none is started
};

// "", "one at a time", "held".
std::string_view BackoffText(Backoff backoff);

// Per cent of the last 10 seconds in which some task stalled ("some avg10").
// Nothing: the kernel does not say.
struct Pressure {
  std::optional<double> cpu;
  std::optional<double> memory;
  std::optional<double> io;
  Backoff backoff = Backoff::kNone;
};

struct PressureOptions {
  // Where the kernel's files cpu, memory and io lie. Where it has none there is
  // no pressure.
  std::filesystem::path folder = "/proc/pressure";

  // Limits in per cent, 0 to 100; over 100: never. Lower: background work
  // yields to less. Higher: others feel it more. A pressure is over its limit
  // until it has fallen below three quarters of it.
  //
  // Compiles on every core are CPU pressure themselves (60 to 65 was seen with
  // 2.5 busy processes on 2 cores): the limit lies above that.
  double cpu_limit = 80;
  double memory_limit = 10;
  double io_limit = 50;
};

// Returns: `defaults`, changed by the text "folder=F,cpu=N,memory=N,io=N" in
// any order and number; what cannot be understood is left out.
PressureOptions ReadPressureOptions(std::string_view text,
                                    PressureOptions defaults = {});

// Reads the files at most once a second. Confined to the io thread. Blocks: for
// a read of procfs, no disk.
class PressureReader {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  explicit PressureReader(PressureOptions options = {},
                          Clock clock = std::chrono::steady_clock::now)
      : options_(std::move(options)), clock_(std::move(clock)) {}

  // What it is now, or was less than a second ago.
  const Pressure& Sample();

 private:
  std::optional<double> Read(std::string_view file) const;
  // Whether `value` is over `limit`, with its hysteresis.
  static bool IsOver(std::optional<double> value, double limit, bool was_over);

  const PressureOptions options_;
  const Clock clock_;
  std::optional<std::chrono::steady_clock::time_point> sampled_;
  Pressure pressure_;
  std::array<bool, 3> over_{};
};

}  // namespace kiln::daemon
