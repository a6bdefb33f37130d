// SPDX-License-Identifier: Apache-2.0
#pragma once

// The JSON lines that an engine (engine_lines.h) or the demonstration prints,
// from some moment on.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "client/demo/child.h"

namespace kiln::demo {

// Thread-compatible. Requires: the child outlives it.
class EventTail {
 public:
  // What the child prints from now on.
  explicit EventTail(const Child& child)
      : EventTail(child, child.lines().size()) {}

  // All that it has printed, too.
  static EventTail FromStart(const Child& child) { return {child, 0}; }

  // Returns: the lines of one event so far.
  std::vector<nlohmann::json> Of(const std::string& event) const;

  // Both block until there are lines of `event`, about `count` different keys
  // or `count` in all, or the child has ended, or `deadline` has passed.
  // Returns: whether there are.
  bool WaitForKeys(const std::string& event, size_t count,
                   std::chrono::milliseconds deadline) const;
  bool WaitForLines(const std::string& event, size_t count,
                    std::chrono::milliseconds deadline) const;

 private:
  EventTail(const Child& child, size_t from) : child_(child), from_(from) {}

  bool WaitFor(const std::string& event,
               const std::function<bool(const nlohmann::json&)>& enough,
               std::chrono::milliseconds deadline) const;

  const Child& child_;
  const size_t from_;
};

}  // namespace kiln::demo
