// SPDX-License-Identifier: Apache-2.0
#include "client/cli/command.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "proto/socket_path.h"
#include "proto/status_macros.h"

namespace kiln::cli {

void AddCommonOptions(CLI::App& command, CommonOptions& options) {
  options.socket = DefaultSocketPath();
  command
      .add_option("--socket", options.socket,
                  "Path of the daemon's Unix socket")
      ->capture_default_str();
  command.add_flag("--json", options.json,
                   "Print one JSON object per line on standard output");
}

absl::StatusOr<std::unique_ptr<client::RpcClient>> ConnectToDaemon(
    const CommonOptions& options) {
  client::RpcOptions rpc_options;
  rpc_options.socket = options.socket;
  rpc_options.client_name = "kiln";
  KILN_ASSIGN_OR_RETURN(auto rpc,
                        client::RpcClient::Create(std::move(rpc_options)));
  KILN_RETURN_IF_ERROR(rpc->Handshake().status());
  return rpc;
}

int ConnectFailed(Output& output, const absl::Status& status) {
  output.Error(status);
  return status.code() == absl::StatusCode::kInvalidArgument ? kUsage
                                                             : kNoDaemon;
}

int CallFailed(Output& output, const absl::Status& status) {
  output.Error(status);
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
      return kNoDaemon;
    case absl::StatusCode::kInvalidArgument:
      return kUsage;
    default:
      return kFailed;
  }
}

int BadInput(Output& output, const absl::Status& status) {
  output.Error(status);
  return kUsage;
}

}  // namespace kiln::cli
