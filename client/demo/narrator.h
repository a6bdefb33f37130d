// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the demonstration tells its audience: text for people or JSON lines for
// programs, and the claims it makes.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"

namespace kiln::demo {

// Thread-compatible.
class Narrator {
 public:
  // `any_speed`: claims about time decide nothing.
  Narrator(bool json, bool any_speed) : json_(json), any_speed_(any_speed) {}

  // Text, a line or more; nothing where the audience reads JSON.
  void Say(std::string_view text) const;

  // A line of JSON; nothing where the audience reads text.
  void Print(const nlohmann::json& line) const;

  // Makes a claim, true or not.
  void Check(bool holds, const std::string& claim);
  void CheckTime(bool holds, const std::string& claim);

  // FailedPrecondition naming the first claim that does not hold.
  const absl::Status& failure() const { return failure_; }

 private:
  void Judge(bool holds, bool decides, const std::string& claim);

  const bool json_;
  const bool any_speed_;
  absl::Status failure_;
};

}  // namespace kiln::demo
