// SPDX-License-Identifier: Apache-2.0
#include "client/cli/progress.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "proto/text.h"

namespace kiln::cli {
namespace {

constexpr size_t kBarCells = 30;
constexpr size_t kDefaultColumns = 80;

bool IsCapableTerminal() {
  const char* term = getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && *term != '\0' &&
         std::string_view(term) != "dumb";
}

size_t TerminalColumns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kDefaultColumns;
  }
  return size.ws_col;
}

}  // namespace

StatusLine::StatusLine() : visible_(IsCapableTerminal()) {}

StatusLine::~StatusLine() {
  Clear();
}

void StatusLine::Show(std::string_view text) {
  if (visible_) {
    // A full line would wrap and could not be taken back.
    fmt::print(stderr, "\r\x1b[K{}", Shorten(text, TerminalColumns() - 1));
    std::fflush(stderr);
    shown_ = true;
  }
}

void StatusLine::Clear() {
  if (shown_) {
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    shown_ = false;
  }
}

std::string ProgressBar(size_t done, size_t total) {
  const size_t cells =
      total == 0 ? kBarCells : std::min(done, total) * kBarCells / total;
  return fmt::format("[{}{}] {}/{}", std::string(cells, '#'),
                     std::string(kBarCells - cells, '.'), done, total);
}

std::string_view SpinnerFrame(size_t tick) {
  constexpr std::string_view kFrames[] = {"-", "\\", "|", "/"};
  return kFrames[tick % std::size(kFrames)];
}

}  // namespace kiln::cli
