// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "client/cli/command.h"
#include "client/cli/output.h"
#include "client/cli/root_argument.h"
#include "client/cli/root_walk.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

// Shadowed files that are named without --shadowed.
constexpr int kShadowedNamed = 3;

struct RootsOptions {
  CommonOptions common;
  std::string root;
  std::string before;
  bool shadowed = false;
};

// By which the file can still be had.
std::string FullPath(const v1::SearchRoot& root, const std::string& path) {
  return fmt::format("/{}/{}", root.name(), path);
}

std::string UnreadPath(const v1::SearchRoot& root, const UnreadFolder& unread) {
  return unread.path.empty() ? "/" + root.name() : FullPath(root, unread.path);
}

// Where this user cannot look into a root, which may not pass for empty. One
// that is not there for kilnd may be unreadable, too.
std::vector<UnreadFolder> UnreadOf(const v1::SearchRoot& root) {
  if (!root.exists() && absl::IsNotFound(CheckFolder(root.folder()))) {
    return {};
  }
  return WalkRoot(root.folder()).unread;
}

json RootJson(size_t order, const v1::SearchRoot& root,
              const std::vector<UnreadFolder>& unread) {
  json object = {{"order", order},          {"name", root.name()},
                 {"folder", root.folder()}, {"exists", root.exists()},
                 {"fixed", root.fixed()},   {"precompiled", root.precompiled()},
                 {"files", root.files()}};
  object["shadowed"] = json::array();
  for (const v1::ShadowedFile& file : root.shadowed()) {
    object["shadowed"].push_back({{"path", FullPath(root, file.path())},
                                  {"hidden_by", file.hidden_by()}});
  }
  object["unreadable"] = json::array();
  for (const UnreadFolder& folder : unread) {
    object["unreadable"].push_back(
        {{"path", UnreadPath(root, folder)}, {"error", folder.reason}});
  }
  return object;
}

// What is worth a word about a root.
std::vector<std::string> RootFacts(const v1::SearchRoot& root,
                                   const std::vector<UnreadFolder>& unread) {
  std::vector<std::string> facts;
  if (!unread.empty() && unread.front().path.empty()) {
    facts.push_back("cannot be read: " + unread.front().reason);
  } else if (!root.exists()) {
    facts.emplace_back("missing");
  } else {
    facts.push_back(
        fmt::format("{} file{}", root.files(), root.files() == 1 ? "" : "s"));
  }
  if (root.fixed()) {
    facts.emplace_back("fixed");
  }
  if (root.precompiled()) {
    facts.emplace_back("precompiled");
  }
  if (root.shadowed_size() > 0) {
    facts.push_back(fmt::format("{} shadowed", root.shadowed_size()));
  }
  if (!unread.empty() && !unread.front().path.empty()) {
    facts.push_back(fmt::format("{} folder{} cannot be read", unread.size(),
                                unread.size() == 1 ? "" : "s"));
  }
  return facts;
}

std::string RootText(size_t order, const v1::SearchRoot& root,
                     const std::vector<UnreadFolder>& unread, bool all) {
  std::string text = fmt::format("{}  {}  {}  {}", order, root.name(),
                                 ShownName(root.folder()),
                                 fmt::join(RootFacts(root, unread), ", "));
  for (const UnreadFolder& folder : unread) {
    if (!folder.path.empty()) {
      text += fmt::format("\n     {} cannot be read: {}",
                          ShownName(UnreadPath(root, folder)), folder.reason);
    }
  }
  const int named = all ? root.shadowed_size()
                        : std::min(root.shadowed_size(), kShadowedNamed);
  for (int i = 0; i < named; ++i) {
    const v1::ShadowedFile& file = root.shadowed(i);
    text +=
        fmt::format("\n     {} (hidden by {})",
                    ShownName(FullPath(root, file.path())), file.hidden_by());
  }
  if (named < root.shadowed_size()) {
    text += fmt::format("\n     and {} more; --shadowed names them",
                        root.shadowed_size() - named);
  }
  return text;
}

int RunList(const RootsOptions& options) {
  Output output(options.common.json);
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  auto roots = (*rpc)->ListRoots(/*with_files=*/true);
  if (!roots.ok()) {
    return CallFailed(output, roots.status());
  }
  size_t order = 0;
  int exit_code = kOk;
  for (const v1::SearchRoot& root : roots->roots()) {
    ++order;
    const std::vector<UnreadFolder> unread = UnreadOf(root);
    exit_code = unread.empty() ? exit_code : kFailed;
    output.Result(RootJson(order, root, unread),
                  RootText(order, root, unread, options.shadowed));
  }
  if (order == 0 && !options.common.json) {
    const auto status = (*rpc)->GetStatus();
    output.Result({},
                  status.ok() && status->sealed()
                      ? "no search roots: kilnd is sealed and compiles "
                        "nothing"
                      : "no search roots; `kiln roots add FOLDER` adds one");
  }
  return exit_code;
}

int RunAdd(const RootsOptions& options) {
  Output output(options.common.json);
  const auto root = ParseRootArgument(options.root);
  if (!root.ok()) {
    return BadInput(output, root.status());
  }
  const absl::Status folder = CheckFolder(root->folder);
  if (absl::IsInvalidArgument(folder)) {
    return BadInput(output, folder);
  }
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  const auto known = (*rpc)->AddRoot(root->name, root->folder, options.before);
  if (!known.ok()) {
    return CallFailed(output, known.status());
  }
  const std::string_view why(folder.message().data(), folder.message().size());
  output.Result({{"name", root->name},
                 {"folder", root->folder},
                 {"exists", folder.ok()},
                 {"already_known", *known}},
                fmt::format("root {} {}: {}{}", root->name,
                            *known ? "was there already" : "added",
                            ShownName(root->folder),
                            folder.ok() ? ""
                            : absl::IsNotFound(folder)
                                ? " (missing; it is searched once it exists)"
                                : fmt::format(" ({})", why)));
  return kOk;
}

int RunRemove(const RootsOptions& options) {
  Output output(options.common.json);
  auto rpc = ConnectToDaemon(options.common);
  if (!rpc.ok()) {
    return ConnectFailed(output, rpc.status());
  }
  if (absl::Status status = (*rpc)->RemoveRoot(options.root); !status.ok()) {
    return CallFailed(output, status);
  }
  output.Result({{"name", options.root}, {"removed", true}},
                fmt::format("root {} removed", options.root));
  return kOk;
}

void AddAdd(CLI::App& roots, const std::shared_ptr<RootsOptions>& options,
            int& exit_code) {
  CLI::App* command = roots.add_subcommand(
      "add", "Add a search root, now and for later starts of the daemon");
  AddCommonOptions(*command, options->common);
  command
      ->add_option("ROOT", options->root,
                   "NAME=FOLDER, or a folder, which is then called as its last "
                   "part")
      ->required();
  command->add_option("--before", options->before,
                      "Name of the root to put it before (default: last)");
  command->footer(
      "The folder may be missing yet. A root that is not called as its folder, "
      "or whose\n"
      "folder has a '=' in its name, is written NAME=FOLDER. Files that an "
      "earlier root\n"
      "hides, and files of later roots that this one hides, are named by `kiln "
      "roots`.\n"
      "Examples:\n"
      "  kiln roots add ~/game/shaders\n"
      "  kiln roots add project=~/game/shaders --before engine");
  command->callback([options, &exit_code] { exit_code = RunAdd(*options); });
}

void AddRemove(CLI::App& roots, const std::shared_ptr<RootsOptions>& options,
               int& exit_code) {
  CLI::App* command =
      roots.add_subcommand("remove", "Forget a search root that was added");
  AddCommonOptions(*command, options->common);
  command->add_option("NAME", options->root, "Name of the root")->required();
  command->footer(
      "What was compiled of its files stays. A root that kilnd was started "
      "with\n"
      "(--root) cannot be removed.\n"
      "Examples:\n"
      "  kiln roots remove project");
  command->callback([options, &exit_code] { exit_code = RunRemove(*options); });
}

}  // namespace

void AddRootsCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RootsOptions>();
  CLI::App* command = app.add_subcommand(
      "roots", "List, add and remove the folders shaders are found in");
  AddCommonOptions(*command, options->common);
  command->add_flag("--shadowed", options->shadowed,
                    "Name every shadowed file, not the first few of each root");
  command->require_subcommand(0, 1);
  command->footer(
      "Lists the search roots in order: a name that several of them have means "
      "the\n"
      "file of the first. The others are shadowed, and still reached by the "
      "full\n"
      "virtual path that is shown. A missing root is skipped until it exists; "
      "a fixed\n"
      "one is of kilnd's command line. Folders that cannot be read are named, "
      "and exit\n"
      "with 1.\n"
      "Examples:\n"
      "  kiln roots\n"
      "  kiln roots --json | jq -r '.shadowed[].path'\n"
      "  kiln roots add project=~/game/shaders --before engine\n"
      "  kiln roots remove project");
  AddAdd(*command, options, exit_code);
  AddRemove(*command, options, exit_code);
  command->callback([command, options, &exit_code] {
    if (command->get_subcommands().empty()) {
      exit_code = RunList(*options);
    }
  });
}

}  // namespace kiln::cli
