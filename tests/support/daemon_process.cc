// SPDX-License-Identifier: Apache-2.0
#include "tests/support/daemon_process.h"

#include <signal.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "kiln/v1/kiln.pb.h"
#include "proto/status_macros.h"
#include "tests/support/eventually.h"

namespace kiln::testing {
namespace {

constexpr std::chrono::seconds kExitDeadline{30};

}  // namespace

DaemonProcess::~DaemonProcess() {
  child_.reset();
  if (::testing::Test::HasFailure()) {
    std::cerr << "--- kilnd's log ---\n" << Log() << "---\n";
  }
}

absl::Status DaemonProcess::Launch() {
  demo::ChildOptions child{{"--socket", socket_, "--state", state_.string()},
                           options_.environment,
                           (folder_.path() / "log").string()};
  child.arguments.insert(child.arguments.end(), options_.arguments.begin(),
                         options_.arguments.end());
  KILN_ASSIGN_OR_RETURN(child_,
                        demo::Child::Start(KILN_BINARY_DIR "/kilnd", child));
  return absl::OkStatus();
}

absl::Status DaemonProcess::Start() {
  KILN_RETURN_IF_ERROR(Launch());
  absl::Status status;
  Eventually([&] {
    status = Connect()->GetStatus().status();
    return status.ok() || child_->Wait(std::chrono::milliseconds(0)).ok();
  });
  return status;
}

absl::StatusOr<int> DaemonProcess::Stop() {
  child_->Signal(SIGTERM);
  return Wait();
}

void DaemonProcess::Kill() {
  child_->Signal(SIGKILL);
  child_->Wait(kExitDeadline).IgnoreError();
}

void DaemonProcess::Freeze() {
  child_->Signal(SIGSTOP);
}

void DaemonProcess::Thaw() {
  child_->Signal(SIGCONT);
}

absl::StatusOr<int> DaemonProcess::Wait() {
  return child_->Wait(kExitDeadline);
}

std::string DaemonProcess::Log() const {
  std::ifstream in(folder_.path() / "log");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::unique_ptr<client::RpcClient> DaemonProcess::Connect() const {
  auto rpc =
      client::RpcClient::Create({.socket = socket_, .client_name = "test"});
  EXPECT_TRUE(rpc.ok()) << rpc.status();
  return *std::move(rpc);
}

uint64_t DaemonProcess::CounterValue(const std::string& name) const {
  const auto status = Connect()->GetStatus();
  EXPECT_TRUE(status.ok()) << status.status();
  if (!status.ok() || !status->counters().contains(name)) {
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }
  return status->counters().at(name);
}

std::vector<pid_t> DaemonProcess::Workers() const {
  std::vector<pid_t> pids;
  const auto status = Connect()->GetStatus();
  EXPECT_TRUE(status.ok()) << status.status();
  if (status.ok()) {
    for (const v1::WorkerStatus& worker : status->workers()) {
      pids.push_back(static_cast<pid_t>(worker.pid()));
    }
  }
  return pids;
}

}  // namespace kiln::testing
