// SPDX-License-Identifier: Apache-2.0
#include "tests/client/daemon_process.h"

#include <signal.h>

#include <fstream>
#include <iostream>
#include <utility>

#include <gtest/gtest.h>

#include "client/rpc.h"
#include "kiln/v1/kiln.pb.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"

namespace kiln::testing {
namespace {

absl::StatusOr<v1::GetStatusResponse> AskStatus(const std::string& socket) {
  client::RpcOptions options;
  options.socket = socket;
  KILN_ASSIGN_OR_RETURN(auto rpc, client::RpcClient::Create(options));
  return rpc->GetStatus();
}

}  // namespace

DaemonProcess::DaemonProcess() = default;

DaemonProcess::~DaemonProcess() {
  child_.reset();
  if (::testing::Test::HasFailure()) {
    std::ifstream log(folder_ / "kilnd.log");
    std::cerr << "--- kilnd's log ---\n" << log.rdbuf() << "---\n";
  }
}

void DaemonProcess::Start() {
  demo::ChildOptions options;
  options.arguments = {"--socket",        socket(),    "--state",
                       folder_ / "state", "--workers", "2"};
  options.stderr_file = folder_ / "kilnd.log";
  auto child = demo::Child::Start(KILN_BINARY_DIR "/kilnd", options);
  ASSERT_OK(child);
  child_ = *std::move(child);
  ASSERT_TRUE(Eventually([&] { return AskStatus(socket()).ok(); }))
      << AskStatus(socket()).status();
}

void DaemonProcess::Kill() {
  child_->Signal(SIGKILL);
  EXPECT_OK(child_->Wait(std::chrono::seconds(10)));
}

int DaemonProcess::Stop() {
  child_->Signal(SIGTERM);
  return child_->Wait(std::chrono::seconds(10)).value_or(-1);
}

void DaemonProcess::Freeze() {
  child_->Signal(SIGSTOP);
}

void DaemonProcess::Thaw() {
  child_->Signal(SIGCONT);
}

pid_t DaemonProcess::pid() const {
  return child_->pid();
}

std::map<std::string, uint64_t> DaemonProcess::Counters() const {
  auto status = AskStatus(socket());
  EXPECT_OK(status);
  if (!status.ok()) {
    return {};
  }
  return {status->counters().begin(), status->counters().end()};
}

}  // namespace kiln::testing
