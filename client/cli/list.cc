// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/variant_json.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::cli {
namespace {

constexpr size_t kShortDigits = 12;

std::string ShortHex(const std::string& digest) {
  return absl::BytesToHexString(digest).substr(0, kShortDigits);
}

int RunList(const CommonOptions& options) {
  Output output(options.json);
  auto rpc = ConnectToDaemon(options);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  std::string page_token;
  do {
    auto page = (*rpc)->ListVariants(page_token);
    if (!page.ok()) {
      return CallFailed(output, page.status());
    }
    for (const v1::Variant& variant : page->variants()) {
      output.Result(VariantJson(variant),
                    fmt::format("{} on {} {}: {}", ShortHex(variant.key_id()),
                                ShortHex(variant.target()), variant.label(),
                                VariantText(variant)));
    }
    page_token = page->next_page_token();
  } while (!page_token.empty());
  return kOk;
}

}  // namespace

void AddListCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand(
      "list", "List the stored variants of every target, in key order");
  AddCommonOptions(*command, *options);
  command->footer(
      "Each line: key on target, label: compile time, blob size, registers "
      "and\n"
      "waves where the driver tells, and whether a hit was proven.\n"
      "Examples:\n"
      "  kiln list\n"
      "  kiln list --json | jq -r 'select(.spills > 0) | .label'");
  command->callback([options, &exit_code] { exit_code = RunList(*options); });
}

}  // namespace kiln::cli
