// SPDX-License-Identifier: Apache-2.0
#include "client/demo/event_tail.h"

#include <set>
#include <utility>

namespace kiln::demo {
namespace {

using Json = nlohmann::json;

// Returns: the line as JSON, null if it is not of `event`.
Json Parse(const std::string& text, const std::string& event) {
  Json line = Json::parse(text, nullptr, false);
  return line.is_object() && line.value("event", "") == event ? std::move(line)
                                                              : Json();
}

}  // namespace

std::vector<Json> EventTail::Of(const std::string& event) const {
  std::vector<Json> found;
  const std::vector<std::string> lines = child_.lines();
  for (size_t i = from_; i < lines.size(); ++i) {
    if (Json line = Parse(lines[i], event); !line.is_null()) {
      found.push_back(std::move(line));
    }
  }
  return found;
}

bool EventTail::WaitForKeys(const std::string& event, size_t count,
                            std::chrono::milliseconds deadline) const {
  std::set<std::string> keys;
  return WaitFor(
      event,
      [&](const Json& line) {
        keys.insert(line.value("key", ""));
        return keys.size() >= count;
      },
      deadline);
}

bool EventTail::WaitForLines(const std::string& event, size_t count,
                             std::chrono::milliseconds deadline) const {
  size_t lines = 0;
  return WaitFor(
      event, [&](const Json&) { return ++lines >= count; }, deadline);
}

bool EventTail::WaitFor(const std::string& event,
                        const std::function<bool(const Json&)>& enough,
                        std::chrono::milliseconds deadline) const {
  size_t index = 0;  // each line is looked at once, in order
  return child_.WaitForLine(
      [&](const std::string& text) {
        if (index++ < from_) {
          return false;
        }
        const Json line = Parse(text, event);
        return !line.is_null() && enough(line);
      },
      deadline);
}

}  // namespace kiln::demo
