// SPDX-License-Identifier: Apache-2.0
#include "daemon/pressure.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <utility>

namespace kiln::daemon {
namespace {

constexpr std::chrono::seconds kSampleInterval{1};
constexpr double kReleaseAt = 0.75;  // of a limit

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) {
    return std::nullopt;
  }
  return value;
}

// "some avg10=1.23 avg60=..." holds 1.23.
std::optional<double> ParseSomeAvg10(std::string_view text) {
  constexpr std::string_view kStart = "some avg10=";
  const size_t at = text.find(kStart);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  return ParseNumber(text.substr(at + kStart.size()));
}

}  // namespace

std::string_view BackoffText(Backoff backoff) {
  switch (backoff) {
    case Backoff::kNone:
      return "";
    case Backoff::kOneAtATime:
      return "one at a time";
    case Backoff::kHold:
      return "held";
  }
  return "";
}

PressureOptions ReadPressureOptions(std::string_view text,
                                    PressureOptions options) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    const std::string_view value =
        part.substr(std::min(equals + 1, part.size()));
    const std::optional<double> number = ParseNumber(value);
    if (name == "folder" && !value.empty()) {
      options.folder = value;
    } else if (name == "cpu" && number) {
      options.cpu_limit = *number;
    } else if (name == "memory" && number) {
      options.memory_limit = *number;
    } else if (name == "io" && number) {
      options.io_limit = *number;
    }
  }
  return options;
}

std::optional<double> PressureReader::Read(std::string_view file) const {
  std::ifstream in(options_.folder / file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return ParseSomeAvg10(text);
}

bool PressureReader::IsOver(std::optional<double> value, double limit,
                            bool was_over) {
  return value && *value > limit * (was_over ? kReleaseAt : 1.0);
}

const Pressure& PressureReader::Sample() {
  const auto now = clock_();
  if (sampled_ && now - *sampled_ < kSampleInterval) {
    return pressure_;
  }
  sampled_ = now;
  pressure_.cpu = Read("cpu");
  pressure_.memory = Read("memory");
  pressure_.io = Read("io");
  over_ = {IsOver(pressure_.cpu, options_.cpu_limit, over_[0]),
           IsOver(pressure_.memory, options_.memory_limit, over_[1]),
           IsOver(pressure_.io, options_.io_limit, over_[2])};
  if (over_[1]) {
    pressure_.backoff = Backoff::kHold;
  } else if (over_[0] || over_[2]) {
    pressure_.backoff = Backoff::kOneAtATime;
  } else {
    pressure_.backoff = Backoff::kNone;
  }
  return pressure_;
}

}  // namespace kiln::daemon
