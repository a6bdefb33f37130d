// SPDX-License-Identifier: Apache-2.0
#include "client/cli/prove_output.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace kiln::cli {
namespace {

using nlohmann::json;

void PrintDifference(Output& output, const lab::CaseDifference& difference) {
  const lab::PictureDifference& picture = difference.picture;
  std::string text = fmt::format(
      "case {} {}: {} pixels differ, by up to {:.6g}, in columns {} to {} and "
      "rows {} to {}; cleared: {}",
      difference.seed, difference.label, picture.pixels, picture.max_difference,
      picture.left, picture.right, picture.top, picture.bottom,
      fmt::join(difference.cleared, "|"));
  if (!difference.folder.empty()) {
    text += fmt::format("; to blame: {}; images in {}",
                        fmt::join(difference.blamed, "|"),
                        difference.folder.string());
  }
  if (difference.unstable) {
    text += "; the whole shader does not draw twice alike";
  }
  output.Result(
      {{"case", difference.seed},
       {"label", difference.label},
       {"pixels", picture.pixels},
       {"max_difference", picture.max_difference},
       {"box", {picture.left, picture.top, picture.right, picture.bottom}},
       {"cleared", difference.cleared},
       {"blamed", difference.blamed},
       {"unstable", difference.unstable},
       {"folder", difference.folder.string()}},
      text);
}

json KindJson(const lab::KindReport& kind) {
  return {{"kind", kind.kind},
          {"cases", kind.cases},
          {"variants", kind.variants},
          {"covered", kind.covered},
          {"differences", kind.differences},
          {"tolerated", kind.tolerated}};
}

std::string KindTable(const std::vector<lab::KindReport>& kinds) {
  size_t width = 4;
  for (const lab::KindReport& kind : kinds) {
    width = std::max(width, kind.kind.size());
  }
  std::string text =
      fmt::format("{:<{}}  cases  variants  covered  differ", "kind", width);
  for (const lab::KindReport& kind : kinds) {
    text += fmt::format("\n{:<{}}  {:>5}  {:>8}  {:>6.0f}%  {:>6}", kind.kind,
                        width, kind.cases, kind.variants, 100 * kind.covered,
                        kind.differences);
  }
  return text;
}

json BitJson(const lab::BitReport& bit, bool sensitivity) {
  json object = {{"bit", bit.name}, {"set", bit.set}, {"cleared", bit.cleared}};
  if (sensitivity) {
    object["matters"] = bit.matters;
  }
  return object;
}

// In how many cases each bit was set, was cleared, and can be seen.
std::string BitTable(const std::vector<lab::BitReport>& bits,
                     bool sensitivity) {
  size_t width = 3;
  for (const lab::BitReport& bit : bits) {
    width = std::max(width, bit.name.size());
  }
  std::string text = fmt::format("{:<{}}  set  cleared{}", "bit", width,
                                 sensitivity ? "  matters" : "");
  for (const lab::BitReport& bit : bits) {
    text += fmt::format("\n{:<{}}  {:>3}  {:>7}", bit.name, width, bit.set,
                        bit.cleared);
    if (sensitivity) {
      text += fmt::format("  {:>7}", bit.matters);
    }
  }
  return text;
}

void PrintTables(Output& output, const lab::ProveReport& report,
                 bool sensitivity) {
  if (!output.json()) {
    output.Result({}, KindTable(report.kinds));
    if (!report.bits.empty()) {
      output.Result({}, BitTable(report.bits, sensitivity));
    }
    return;
  }
  for (const lab::KindReport& kind : report.kinds) {
    output.Result(KindJson(kind), "");
  }
  for (const lab::BitReport& bit : report.bits) {
    output.Result(BitJson(bit, sensitivity), "");
  }
}

void PrintTolerance(Output& output, const lab::ProveReport& report,
                    const lab::ProveOptions& options) {
  if (options.tolerances.empty()) {
    return;
  }
  if (!report.tolerance) {
    output.Result({{"tolerance", nullptr}},
                  "no tolerance is for this target's driver: bytes decided");
    return;
  }
  uint32_t tolerated = 0;
  for (const lab::KindReport& kind : report.kinds) {
    tolerated += kind.tolerated;
  }
  output.Result(
      {{"tolerance", report.tolerance->max_difference},
       {"driver", report.tolerance->driver},
       {"tolerated", tolerated}},
      fmt::format("tolerance for {}: {:.6g}; {} cases differ within it",
                  report.tolerance->driver, report.tolerance->max_difference,
                  tolerated));
}

}  // namespace

void PrintProof(Output& output, const lab::ProveReport& report,
                const lab::ProveOptions& options) {
  for (const lab::CaseDifference& difference : report.differences) {
    PrintDifference(output, difference);
  }
  PrintTables(output, report, options.sensitivity);
  PrintTolerance(output, report, options);
}

void PrintProofSummary(Output& output, const lab::ProveReport& report,
                       double seconds) {
  const size_t differences = report.differences.size();
  const std::string finding = differences == 0
                                  ? "no variant changes the picture"
                                  : fmt::format("{} differ", differences);
  output.Result({{"cases", report.cases},
                 {"differences", differences},
                 {"pipelines", report.pipelines},
                 {"seconds", seconds}},
                fmt::format("{} cases: {} ({} pipelines, {:.1f} s)",
                            report.cases, finding, report.pipelines, seconds));
}

}  // namespace kiln::cli
