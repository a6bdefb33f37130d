// SPDX-License-Identifier: Apache-2.0
#pragma once

// Advice in words for people, with the lines of TOML to take it, and as JSON
// objects whose names are part of the command's interface.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "client/cli/advice.h"
#include "proto/program.h"

namespace kiln::cli {

// Where advice comes from, for its words.
struct AdviceContext {
  const Program& program;
  double threshold_percent = 0;
  bool from_manifest = false;  // else from what is stored
};

// A table a kind, what is not worth a variant, what moves together, and how
// many variants there are in the end.
std::string AdviceText(const Advice& advice, const AdviceContext& context);

// One object a bit and kind, "flags", one an override, and "summary"; their
// "type" says which.
std::vector<nlohmann::json> AdviceJson(const Advice& advice,
                                       const AdviceContext& context);

}  // namespace kiln::cli
