// SPDX-License-Identifier: Apache-2.0
#include "client/demo/narrator.h"

#include <iostream>

#include <fmt/format.h>

namespace kiln::demo {

void Narrator::Say(std::string_view text) const {
  if (!json_) {
    std::cout << text << std::endl;
  }
}

void Narrator::Print(const nlohmann::json& line) const {
  if (json_) {
    std::cout << line.dump() << std::endl;
  }
}

void Narrator::Check(bool holds, const std::string& claim) {
  Judge(holds, true, claim);
}

void Narrator::CheckTime(bool holds, const std::string& claim) {
  Judge(holds, !any_speed_, claim);
}

void Narrator::Judge(bool holds, bool decides, const std::string& claim) {
  Say(fmt::format("  [{}] {}", holds ? "ok" : "FAILED", claim));
  Print({{"event", "claim"},
         {"ok", holds},
         {"decides", decides},
         {"claim", claim}});
  if (!holds && decides && failure_.ok()) {
    failure_ = absl::FailedPreconditionError(fmt::format("not so: {}", claim));
  }
}

}  // namespace kiln::demo
