// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where two texts first differ, as one line a side. Not a diff: it tells an
// author which edit is meant, and costs one pass.

#include <string>
#include <string_view>

namespace kiln {

struct FirstDifference {
  std::string a;  // "line 12: \"a = 1;\""
  std::string b;
};

// Each side is one line of valid UTF-8, of at most 200 bytes; of a long line,
// the part around the difference. A text that has ended is "ends after line
// 11". Requires: the texts differ.
FirstDifference FindFirstDifference(std::string_view a, std::string_view b);

}  // namespace kiln
