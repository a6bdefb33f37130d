// SPDX-License-Identifier: Apache-2.0
#include "client/cli/why_output.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

constexpr size_t kShortDigits = 12;
// Longer names push their line out, not everybody's.
constexpr size_t kNameColumn = 44;

std::string ShortHex(const std::string& digest) {
  return absl::BytesToHexString(digest).substr(0, kShortDigits);
}

// In what the nearest entry is like the key: "same choices, other sources".
std::string Likeness(const v1::ExplainResponse& response) {
  bool key = false;
  bool device = false;
  bool sources = false;
  for (const v1::Difference& difference : response.differences()) {
    if (difference.kind() == "key") {
      key = true;
    } else if (difference.kind() == "driver" ||
               difference.kind().starts_with("device ")) {
      device = true;
    } else {
      sources = true;
    }
  }
  std::string same;
  std::string other;
  auto add = [&](bool differs, const char* what) {
    std::string& list = differs ? other : same;
    list += (list.empty() ? "" : " and ") + std::string(what);
  };
  add(key, "choices");
  add(sources, "sources");
  add(device, "device");
  return (same.empty() ? "" : "same " + same) +
         (same.empty() || other.empty() ? "" : ", ") +
         (other.empty() ? "" : "other " + other);
}

std::string SideText(const std::string& side) {
  return side.empty() ? "(none)" : side;
}

std::string DifferenceLine(const v1::Difference& difference, size_t kind_width,
                           size_t name_width) {
  std::string line = fmt::format("  {:<{}}  {:<{}}", difference.kind(),
                                 kind_width, difference.name(), name_width);
  if (difference.stored().empty() && difference.asked().empty()) {
    return line.substr(0, line.find_last_not_of(' ') + 1);  // "and 5 more"
  }
  return fmt::format("{}  {} -> {}", line, SideText(difference.stored()),
                     SideText(difference.asked()));
}

}  // namespace

json WhyJson(const v1::ExplainResponse& response) {
  json object = {{"label", response.label()},
                 {"key", absl::BytesToHexString(response.key_id())},
                 {"target", absl::BytesToHexString(response.target())},
                 {"state", response.state()},
                 {"nearest", nullptr},
                 {"differences", json::array()},
                 {"entries_searched", response.entries_searched()}};
  if (!response.message().empty()) {
    object["message"] = response.message();
  }
  if (response.has_nearest()) {
    const v1::ExplainResponse::Nearest& nearest = response.nearest();
    object["nearest"] = {{"key", absl::BytesToHexString(nearest.key_id())},
                         {"target", absl::BytesToHexString(nearest.target())},
                         {"label", nearest.label()}};
  }
  for (const v1::Difference& difference : response.differences()) {
    object["differences"].push_back({{"kind", difference.kind()},
                                     {"name", difference.name()},
                                     {"stored", difference.stored()},
                                     {"asked", difference.asked()}});
  }
  return object;
}

std::string WhyText(const v1::ExplainResponse& response,
                    std::string_view target_name) {
  std::string text =
      fmt::format("{}  key {}  target {}{}  ({})", response.label(),
                  ShortHex(response.key_id()), ShortHex(response.target()),
                  target_name.empty() ? "" : fmt::format(" ({})", target_name),
                  response.state());
  if (!response.message().empty()) {
    text += "\n" + response.message();
  }
  if (!response.has_nearest()) {
    return text +
           fmt::format("\nnothing comparable is stored, among {} {}",
                       response.entries_searched(),
                       response.entries_searched() == 1 ? "entry" : "entries");
  }
  const v1::ExplainResponse::Nearest& nearest = response.nearest();
  // When entries were stored is not known.
  text += fmt::format("\nnearest stored entry{}: key {}",
                      response.state() == "stored" ? ", older or newer" : "",
                      ShortHex(nearest.key_id()));
  if (nearest.target() != response.target()) {
    text += fmt::format("  target {}", ShortHex(nearest.target()));
  }
  if (nearest.label() != response.label()) {
    text += "  " + nearest.label();
  }
  text += "  " + Likeness(response);
  size_t kind_width = 0;
  size_t name_width = 0;
  for (const v1::Difference& difference : response.differences()) {
    kind_width = std::max(kind_width, difference.kind().size());
    name_width =
        std::max(name_width, std::min(difference.name().size(), kNameColumn));
  }
  for (const v1::Difference& difference : response.differences()) {
    text += "\n" + DifferenceLine(difference, kind_width, name_width);
  }
  return text;
}

}  // namespace kiln::cli
