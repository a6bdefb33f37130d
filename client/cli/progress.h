// SPDX-License-Identifier: Apache-2.0
#pragma once

// One line at the bottom of a terminal that is drawn over again. Where
// standard error is no terminal, or a dumb one, it prints nothing.

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln::cli {

// Thread-compatible. Clears its line when destroyed.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;  // one line, one owner
  StatusLine& operator=(const StatusLine&) = delete;

  // False where Show and Clear do nothing.
  bool visible() const { return visible_; }

  // Cut to the terminal's width.
  void Show(std::string_view text);

  // Before anything else is printed.
  void Clear();

 private:
  const bool visible_;
  bool shown_ = false;
};

// "[######..............] 12/40"
std::string ProgressBar(size_t done, size_t total);

// The frame of a spinner to show at the `tick`-th redraw.
std::string_view SpinnerFrame(size_t tick);

}  // namespace kiln::cli
