// SPDX-License-Identifier: Apache-2.0
#include "client/cli/output.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proto/program_facts.h"
#include "proto/text.h"

namespace kiln::cli {
namespace {

// Flushed, so that a reader at the other end of a pipe sees it now.
void Print(std::FILE* file, std::string_view line) {
  fmt::print(file, "{}\n", line);
  std::fflush(file);
}

std::string Dump(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string ShownName(std::string_view name) {
  const bool has_control = std::ranges::any_of(name, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  return has_control ? Quoted(name) : ToValidUtf8(name);
}

void Output::Result(const nlohmann::json& object, std::string_view text) {
  if (json_) {
    Print(stdout, Dump(object));
  } else {
    Print(stdout, ToValidUtf8(text));
  }
}

void Output::Error(const absl::Status& status) {
  std::string message =
      ToValidUtf8({status.message().data(), status.message().size()});
  std::ranges::replace(message, '\n', ' ');
  Print(stderr, "kiln: " + message);
  if (json_) {
    Print(stdout, Dump({{"error", message},
                        {"code", absl::StatusCodeToString(status.code())}}));
  }
}

void Output::Details(std::string_view text) {
  if (!json_ && !text.empty()) {
    Print(stderr, ToValidUtf8(text));
  }
}

}  // namespace kiln::cli
