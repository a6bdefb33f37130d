// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `kiln why` prints: the answer of the daemon as a JSON object, whose
// names are part of the command's interface, and as lines for people.

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace kiln::v1 {
class ExplainResponse;
}  // namespace kiln::v1

namespace kiln::cli {

// label, key, target, state, message where there is one, nearest (key, target
// and label; null where nothing comparable is stored), differences (of kind,
// name, stored and asked each) and entries_searched.
nlohmann::json WhyJson(const v1::ExplainResponse& response);

// The key and its state, the nearest entry and in what it is like this one, and
// a line for each difference. Targets are shown by their digests' first digits,
// as nothing else is known of that of the nearest entry. `target_name`: as the
// user named the key's, which is shown beside them; may be empty.
std::string WhyText(const v1::ExplainResponse& response,
                    std::string_view target_name);

}  // namespace kiln::cli
