// SPDX-License-Identifier: Apache-2.0
#include "client/cli/tune_printer.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kiln::cli {
namespace {

using nlohmann::json;

// Of those not measured; there can be hundreds.
constexpr size_t kRefusedShown = 3;
constexpr size_t kColumn = 8;

size_t ColumnOf(const std::string& name) {
  return std::max(name.size(), kColumn);
}

}  // namespace

json SizeJson(const std::vector<OverrideValue>& overrides) {
  json object = json::object();
  for (const OverrideValue& entry : overrides) {
    object[entry.name] = entry.value;
  }
  return object;
}

void TunePrinter::PrintHeading() const {
  std::string text = fmt::format(
      "{} on {}: {}x{}x{} invocations, {} sizes, {} clock\n", program_.name,
      target_.device_name, report_.work[0], report_.work[1], report_.work[2],
      report_.measured.size(), report_.time_stamps ? "device" : "processor");
  for (const std::string& name : program_.workgroup_size) {
    text += fmt::format("{:>{}} ", name, ColumnOf(name));
  }
  output_.Result({},
                 fmt::format("{}{:>12} {:>9}", text, "median us", "relative"));
}

void TunePrinter::PrintSize(const lab::TunedSize& size) const {
  const bool best = &size == &report_.measured[report_.best];
  const double fastest = report_.measured.front().median_us;
  const double relative = fastest > 0 ? size.median_us / fastest : 1;
  std::string text;
  for (const OverrideValue& entry : size.size.overrides) {
    text += fmt::format("{:>{}} ", entry.value, ColumnOf(entry.name));
  }
  output_.Result({{"overrides", SizeJson(size.size.overrides)},
                  {"median_us", size.median_us},
                  {"relative", relative},
                  {"dispatches", size.microseconds.size()},
                  {"best", best}},
                 fmt::format("{}{:>12.1f} {:>9.2f}{}", text, size.median_us,
                             relative, best ? "  best" : ""));
}

void TunePrinter::PrintRefused() const {
  const size_t count = report_.refused.size();
  const size_t shown = output_.json() ? count : std::min(count, kRefusedShown);
  for (size_t i = 0; i < shown; ++i) {
    const lab::RefusedSize& refused = report_.refused[i];
    output_.Result(
        {{"refused", refused.size}, {"why", refused.why}},
        fmt::format("not measured: {}: {}", refused.size, refused.why));
  }
  if (shown < count) {
    output_.Result({}, fmt::format("not measured: {} more; --json lists them",
                                   count - shown));
  }
}

void TunePrinter::PrintDoubts() const {
  const bool has_buffers = std::ranges::any_of(
      program_.pipeline.descriptors, [](const Descriptor& descriptor) {
        return descriptor.type.starts_with("storage_buffer");
      });
  if (has_buffers && !report_.wrote_output) {
    output_.Details(
        "note: no size changed a storage buffer; the kernel may have found "
        "nothing to do in the inputs it was given");
  }
  if (!report_.outputs_agree) {
    output_.Details(
        "note: not every size wrote the same; the kernel may be wrong for "
        "some of them");
  }
}

void TunePrinter::PrintTable() const {
  if (!output_.json()) {
    PrintHeading();
  }
  for (const lab::TunedSize& size : report_.measured) {
    PrintSize(size);
  }
  PrintRefused();
  PrintDoubts();
}

void TunePrinter::PrintSummary(bool remembered) const {
  const lab::TunedSize& best = report_.measured[report_.best];
  output_.Result({{"program", program_.name},
                  {"device", target_.device_name},
                  {"target", target_.Id().Hex()},
                  {"overrides", SizeJson(best.size.overrides)},
                  {"median_us", best.median_us},
                  {"work", report_.work},
                  {"measured", report_.measured.size()},
                  {"not_measured", report_.refused.size()},
                  {"time_stamps", report_.time_stamps},
                  {"wrote_output", report_.wrote_output},
                  {"outputs_agree", report_.outputs_agree},
                  {"remembered", remembered}},
                 fmt::format("{}: {}, {:.1f} us{}", program_.name,
                             lab::SizeText(best.size.overrides), best.median_us,
                             remembered ? fmt::format(", remembered for {}",
                                                      target_.device_name)
                                        : ""));
}

}  // namespace kiln::cli
