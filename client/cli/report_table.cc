// SPDX-License-Identifier: Apache-2.0
#include "client/cli/report_table.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::cli {
namespace {

// What a row shows in one column: "466" and "0.08x".
struct Cell {
  std::string value;
  std::string ratio;
};

using Cells = std::array<Cell, kFigures.size()>;

struct Widths {
  size_t value = 0;
  size_t ratio = 0;
};

Cells CellsOf(const ReportRow& row) {
  Cells cells;
  for (size_t i = 0; i < kFigures.size(); ++i) {
    cells[i].value = row.failure.empty()
                         ? FigureText(kFigures[i], row.figures[kFigures[i]])
                         : "-";
    if (const auto ratio = row.Ratio(kFigures[i])) {
      cells[i].ratio = fmt::format("{:.2f}x", *ratio);
    }
  }
  return cells;
}

// Numbers keep one column and ratios another, under a common head.
std::string TableText(const ReportTable& table) {
  std::vector<Cells> rows;
  std::array<Widths, kFigures.size()> widths;
  for (const ReportRow& row : table.rows) {
    rows.push_back(CellsOf(row));
    for (size_t i = 0; i < kFigures.size(); ++i) {
      widths[i].value = std::max(widths[i].value, rows.back()[i].value.size());
      widths[i].ratio = std::max(widths[i].ratio, rows.back()[i].ratio.size());
    }
  }
  std::string text = fmt::format("\n{}\n", table.kind);
  for (size_t i = 0; i < kFigures.size(); ++i) {
    const std::string_view title = FigureTitle(kFigures[i]);
    Widths& width = widths[i];
    width.ratio += width.ratio == 0 ? 0 : 1;
    width.value =
        std::max(width.value + width.ratio, title.size()) - width.ratio;
    text += fmt::format("  {:>{}}", title, width.value + width.ratio);
  }
  text += "  variant\n";
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t i = 0; i < kFigures.size(); ++i) {
      text += fmt::format("  {:>{}}{:>{}}", rows[row][i].value, widths[i].value,
                          rows[row][i].ratio, widths[i].ratio);
    }
    const ReportRow& shown = table.rows[row];
    const auto marks = shown.Marks();
    text += "  " + shown.variant;
    text += marks.empty() ? "" : fmt::format("  ({})", fmt::join(marks, ", "));
    text += shown.failure.empty() ? "" : "  FAILED: " + shown.failure;
    text += '\n';
  }
  return text;
}

}  // namespace

std::string TargetReportText(const TargetReport& report) {
  std::string text =
      fmt::format("{}: {}, {}\n", report.target, report.device, report.driver);
  std::vector<std::string> counts;
  for (const ReportTable& table : report.tables) {
    text += TableText(table);
    counts.push_back(fmt::format("{} of {} {}", table.Marked(),
                                 table.Variants(), table.kind));
  }
  return text + fmt::format(
                    "\nhalf the registers or twice the waves of the "
                    "whole shader: {}\n",
                    counts.empty()
                        ? "nothing to compare"
                        : fmt::format("{}", fmt::join(counts, ", ")));
}

}  // namespace kiln::cli
