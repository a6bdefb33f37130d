// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the command's words go: results to standard output, as text for people
// or as one JSON object per line for programs; errors as one line to standard
// error. Everything printed is valid UTF-8.

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/status.h"

namespace kiln::cli {

// The name of a file or folder as part of a line of text: as it is, or in
// quotes with its control characters escaped if it has any.
std::string ShownName(std::string_view name);

// Thread-compatible.
class Output {
 public:
  explicit Output(bool json) : json_(json) {}

  bool json() const { return json_; }

  // Prints one result, in the form that was asked for.
  void Result(const nlohmann::json& object, std::string_view text);

  // `kiln: <message>` on standard error, and with --json also
  // {"error": ..., "code": ...} on standard output.
  void Error(const absl::Status& status);

  // Compiler output and the like, on standard error; nothing with --json,
  // whose objects hold it.
  void Details(std::string_view text);

 private:
  const bool json_;
};

}  // namespace kiln::cli
