// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the subcommands of `kiln` share: exit codes, the options every one of
// them has, and the way to a daemon. One file per subcommand; main.cc only
// puts them together.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/output.h"
#include "client/rpc.h"

namespace CLI {
class App;
}  // namespace CLI

namespace kiln::cli {

enum ExitCode : int {
  kOk = 0,
  kFailed = 1,        // what was asked for failed: a variant does not compile,
                      // a lint that found something
  kUsage = 2,         // wrong arguments or input files
  kNoDaemon = 3,      // no kilnd, or it refused us
  kInterrupted = 130  // Ctrl-C, as shells count it
};

struct CommonOptions {
  std::string socket;
  bool json = false;
};

// Adds --socket and --json. Lifetime: `options` outlives `command`.
void AddCommonOptions(CLI::App& command, CommonOptions& options);

// Each adds one subcommand, which stores its exit code in `exit_code`.
void AddStatusCommand(CLI::App& app, int& exit_code);
void AddRequestCommand(CLI::App& app, int& exit_code);
void AddListCommand(CLI::App& app, int& exit_code);
void AddGetCommand(CLI::App& app, int& exit_code);
void AddWarmCommand(CLI::App& app, int& exit_code);
void AddRootsCommand(CLI::App& app, int& exit_code);
void AddPrecompileCommand(CLI::App& app, int& exit_code);
void AddCompileCommand(CLI::App& app, int& exit_code);
void AddSurfaceCommand(CLI::App& app, int& exit_code);
void AddTuneCommand(CLI::App& app, int& exit_code);
void AddLintCommand(CLI::App& app, int& exit_code);
void AddProveCommand(CLI::App& app, int& exit_code);
void AddReportCommand(CLI::App& app, int& exit_code);
void AddAdviseCommand(CLI::App& app, int& exit_code);
void AddWhyCommand(CLI::App& app, int& exit_code);
void AddQuarantineCommand(CLI::App& app, int& exit_code);

// A client that has shaken hands.
// Errors: as RpcClient::Handshake; FailedPrecondition is "refused".
absl::StatusOr<std::unique_ptr<client::RpcClient>> ConnectToDaemon(
    const CommonOptions& options);

// Reports a failure to connect. Returns: kNoDaemon, or kUsage for a path that
// cannot be a socket's.
int ConnectFailed(Output& output, const absl::Status& status);

// Reports a failed call. Returns: the exit code that fits its status.
int CallFailed(Output& output, const absl::Status& status);

// Reports wrong input. Returns: kUsage.
int BadInput(Output& output, const absl::Status& status);

}  // namespace kiln::cli
