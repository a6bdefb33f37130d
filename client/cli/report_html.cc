// SPDX-License-Identifier: Apache-2.0
#include "client/cli/report_html.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/text.h"

namespace kiln::cli {
namespace {

// Bars are drawn for the whole shader (pale) and for its variants.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark;
  --ink: #1d2125; --soft: #6a737d; --line: #d8dde2; --back: #ffffff;
  --bar: #2f6fbd; --whole: #b4bcc5; --mark: #1a7f48; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e4e7ea; --soft: #98a2ad; --line: #363c43; --back: #15181b;
  --bar: #6ea8ee; --whole: #59626c; --mark: #59c98a; --bad: #f2887f; } }
body { margin: 2rem auto; max-width: 90rem; padding: 0 1rem; color: var(--ink);
  background: var(--back); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
p { color: var(--soft); max-width: 60rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: 0 0 1.5rem; }
caption { text-align: left; font-weight: 600; padding: .6rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0;
  border-top: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 500; border-top: 0;
  white-space: nowrap; }
tbody th { font-weight: 400; overflow-wrap: anywhere; min-width: 12rem; }
td { min-width: 6rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
td i { font-style: normal; color: var(--soft); padding-left: .4rem; }
.bar { height: 5px; margin-top: 3px; border-radius: 2px; background: var(--bar); }
.whole .bar { background: var(--whole); }
.mark { color: var(--mark); display: block; font-size: .85em; }
.bad { color: var(--bad); white-space: normal; }
)";

// The longest bar of each column.
Figures LargestOf(const ReportTable& table) {
  Figures largest;
  for (const ReportRow& row : table.rows) {
    for (const Figure figure : kFigures) {
      if (row.figures[figure]) {
        largest[figure] =
            std::max(largest[figure].value_or(0), *row.figures[figure]);
      }
    }
  }
  return largest;
}

std::string CellHtml(const ReportRow& row, Figure figure, double largest) {
  const std::optional<double> value = row.figures[figure];
  std::string html = "<td>" + FigureText(figure, value);
  if (const auto ratio = row.Ratio(figure)) {
    html += fmt::format("<i>{:.2f}x</i>", *ratio);
  }
  if (value && largest > 0) {
    html += fmt::format(R"(<div class="bar" style="width:{:.1f}%"></div>)",
                        100 * *value / largest);
  }
  return html + "</td>";
}

std::string RowHtml(const ReportRow& row, const Figures& largest) {
  std::string html = fmt::format(R"(<tr{}><th scope="row">{})",
                                 row.whole ? R"( class="whole")" : "",
                                 EscapeHtml(row.variant));
  for (const std::string_view mark : row.Marks()) {
    html += fmt::format(R"(<span class="mark">{}</span>)", mark);
  }
  html += "</th>";
  if (!row.failure.empty()) {
    return html + fmt::format(R"(<td class="bad" colspan="{}">{}</td></tr>)"
                              "\n",
                              kFigures.size(), EscapeHtml(row.failure));
  }
  for (const Figure figure : kFigures) {
    html += CellHtml(row, figure, largest[figure].value_or(0));
  }
  return html + "</tr>\n";
}

std::string TableHtml(const ReportTable& table) {
  std::string html = fmt::format(
      "<div class=\"scroll\"><table>\n<caption>{}: {} of {} variants have half "
      "the registers or twice the waves</caption>\n<thead><tr>"
      "<th scope=\"col\">variant</th>",
      EscapeHtml(table.kind), table.Marked(), table.Variants());
  for (const Figure figure : kFigures) {
    html +=
        fmt::format(R"(<th scope="col">{})", EscapeHtml(FigureTitle(figure))) +
        "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  const Figures largest = LargestOf(table);
  for (const ReportRow& row : table.rows) {
    html += RowHtml(row, largest);
  }
  return html + "</tbody></table></div>\n";
}

std::string TargetHtml(const TargetReport& target) {
  std::string html = fmt::format(
      "<section>\n<h2>{}</h2>\n<p>{}, {}</p>\n", EscapeHtml(target.target),
      EscapeHtml(target.device), EscapeHtml(target.driver));
  for (const ReportTable& table : target.tables) {
    html += TableHtml(table);
  }
  if (target.tables.empty()) {
    html += "<p>No variant was measured.</p>\n";
  }
  return html + "</section>\n";
}

absl::Status CannotWrite(const std::filesystem::path& file,
                         std::string_view why) {
  return absl::PermissionDeniedError(
      fmt::format("cannot write '{}': {}", ToValidUtf8(file.string()), why));
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string html;
  for (const char c : ToValidUtf8(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string ReportPage(const Report& report) {
  const std::string title =
      EscapeHtml(fmt::format("{}: register report", report.program));
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n"
      "<p>What each variant costs on the device, beside the whole shader of "
      "the same kind, backdrop and blend (pale bars). Figures are the "
      "driver's own, of the fragment stage where there is one; n/a where it "
      "does not say. Fewer registers let more waves run at a time; more waves "
      "hide more latency.</p>\n",
      title, kStyle, title);
  for (const TargetReport& target : report.targets) {
    html += TargetHtml(target);
  }
  if (report.targets.empty()) {
    html += "<p>No target was open.</p>\n";
  }
  return html + "</body>\n</html>\n";
}

absl::Status WriteWholeFile(const std::filesystem::path& file,
                            std::string_view text) {
  std::error_code error;
  const auto kind = std::filesystem::status(file, error).type();
  if (kind != std::filesystem::file_type::not_found &&
      kind != std::filesystem::file_type::regular) {
    return CannotWrite(file, "not a regular file");
  }
  // A link stays one: what it points to is replaced.
  const auto goal = std::filesystem::weakly_canonical(file, error);
  const std::filesystem::path draft =
      goal.string() + fmt::format(".{}.tmp", getpid());
  std::ofstream out(draft, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) {
    const std::string why = std::strerror(errno);
    std::filesystem::remove(draft, error);
    return CannotWrite(file, why);
  }
  std::filesystem::rename(draft, goal, error);
  if (error) {
    const std::string why = error.message();
    std::filesystem::remove(draft, error);
    return CannotWrite(file, why);
  }
  return absl::OkStatus();
}

}  // namespace kiln::cli
