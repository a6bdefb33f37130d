// SPDX-License-Identifier: Apache-2.0

// The `kiln` command: flags and wiring. Each subcommand is in its own file.

#include <stdlib.h>

#include <algorithm>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "client/cli/command.h"
#include "client/cli/output.h"

namespace {

constexpr const char* kFooter =
    "Exit codes:\n"
    "  0    done\n"
    "  1    what was asked for failed: a shader does not compile, no such "
    "key,\n"
    "       a lint that found something, a variant that changes the picture\n"
    "  2    wrong arguments or input files\n"
    "  3    no kilnd at the socket, or it refused or does not answer\n"
    "  130  interrupted\n"
    "Errors are one line on standard error; with --json also an object with\n"
    "\"error\" on standard output.\n"
    "`kiln SUBCOMMAND --help` has the options and examples of each.";

// The arguments could not be parsed, so look for --json by hand.
bool WantsJson(std::span<char*> arguments) {
  return std::ranges::find(arguments, std::string_view("--json")) !=
         arguments.end();
}

int Run(int argc, char** argv) {
  CLI::App app(
      "kiln asks the shader variant daemon kilnd for variants and shows what "
      "it "
      "has.");
  app.footer(kFooter);
  app.require_subcommand(1);
  int exit_code = kiln::cli::kOk;
  kiln::cli::AddStatusCommand(app, exit_code);
  kiln::cli::AddRequestCommand(app, exit_code);
  kiln::cli::AddListCommand(app, exit_code);
  kiln::cli::AddGetCommand(app, exit_code);
  kiln::cli::AddWarmCommand(app, exit_code);
  kiln::cli::AddRootsCommand(app, exit_code);
  kiln::cli::AddPrecompileCommand(app, exit_code);
  kiln::cli::AddCompileCommand(app, exit_code);
  kiln::cli::AddSurfaceCommand(app, exit_code);
  kiln::cli::AddTuneCommand(app, exit_code);
  kiln::cli::AddLintCommand(app, exit_code);
  kiln::cli::AddProveCommand(app, exit_code);
  kiln::cli::AddReportCommand(app, exit_code);
  kiln::cli::AddQuarantineCommand(app, exit_code);
  kiln::cli::AddAdviseCommand(app, exit_code);
  kiln::cli::AddWhyCommand(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help
    }
    kiln::cli::Output output(WantsJson({argv, static_cast<size_t>(argc)}));
    return kiln::cli::BadInput(
        output, absl::InvalidArgumentError(std::string(error.what()) +
                                           "; see `kiln --help`"));
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  // gRPC's own log lines are not for users; GRPC_VERBOSITY brings them back.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {
    kiln::cli::Output output(false);
    output.Error(absl::InternalError(error.what()));
    return kiln::cli::kFailed;
  }
}
