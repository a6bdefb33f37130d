// SPDX-License-Identifier: Apache-2.0
#include "client/cli/program_session.h"

#include <utility>

#include <fmt/format.h>

#include "proto/program_file.h"
#include "proto/status_macros.h"

namespace kiln::cli {

absl::StatusOr<LoadedProgram> LoadProgram(const std::string& path) {
  LoadedProgram loaded;
  KILN_ASSIGN_OR_RETURN(loaded.program, LoadProgramFile(path));
  loaded.id = Digest::Of(EncodeProgram(loaded.program));
  return loaded;
}

absl::StatusOr<LoadedProgram> LoadWholeProgram(const std::string& path) {
  KILN_ASSIGN_OR_RETURN(LoadedProgram loaded, LoadProgram(path));
  if (loaded.program.rooted) {
    return absl::InvalidArgumentError(fmt::format(
        "program {} is rooted: its sources are in kilnd's search roots, and "
        "this command reads only what a program file lists",
        loaded.program.name));
  }
  return loaded;
}

absl::StatusOr<std::unique_ptr<client::BlockingSession>> OpenProgramSession(
    client::RpcClient& rpc, const LoadedProgram& program,
    const std::string& target) {
  KILN_RETURN_IF_ERROR(rpc.RegisterProgram(program.program).status());
  return client::BlockingSession::Open(rpc, target);
}

}  // namespace kiln::cli
