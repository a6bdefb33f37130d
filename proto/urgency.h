// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a variant is asked for, and what an engine is doing: how kilnd decides
// whose compile comes first. Values are internal; the wire has its own
// (proto/wire.h).

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kiln {

// What waits for a variant. Lower is sooner.
enum class Urgency : uint8_t {
  kOnScreen = 0,     // a draw of now uses its fallback until it is there
  kWarmUp = 1,       // will be drawn: a loading screen, a precompile
  kSpeculative = 2,  // may be drawn
};

inline constexpr size_t kUrgencies = 3;
inline constexpr std::array<Urgency, kUrgencies> kAllUrgencies = {
    Urgency::kOnScreen, Urgency::kWarmUp, Urgency::kSpeculative};

constexpr size_t IndexOf(Urgency urgency) {
  return static_cast<size_t>(urgency);
}

// Everything that no draw waits for now.
constexpr bool IsBackground(Urgency urgency) {
  return urgency != Urgency::kOnScreen;
}

constexpr std::string_view UrgencyText(Urgency urgency) {
  constexpr std::array<std::string_view, kUrgencies> kTexts = {
      "on screen", "warm-up", "speculative"};
  return kTexts[IndexOf(urgency)];
}

// What a client does. It decides how many workers background compiles of
// anybody may take.
enum class Activity : uint8_t {
  kPlaying = 0,  // draws frames that must not be late
  kLoading = 1,  // waits for what it asked for: a loading screen, a tool
  kIdle = 2,     // minimised, paused
};

inline constexpr size_t kActivities = 3;

constexpr size_t IndexOf(Activity activity) {
  return static_cast<size_t>(activity);
}

}  // namespace kiln
