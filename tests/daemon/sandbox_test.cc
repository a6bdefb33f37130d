// SPDX-License-Identifier: Apache-2.0

// The worker's sandbox, seen from inside: sandbox_probe.cc enters it and tries.

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/v1/kiln.pb.h"
#include "tests/daemon/sandbox_runs.h"
#include "tests/support/daemon_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {
namespace {

using ::testing::AnyOf;
using testing::DaemonProcess;

// Skips where the kernel or the container does not let us have the layer.
#define KILN_SKIP_WITHOUT(layer)                               \
  if (const std::string why = WhyLacking(layer); !why.empty()) \
  GTEST_SKIP() << why

void ExpectAll(const ProbeRun& run, const std::vector<std::string>& names,
               const std::string& expected) {
  for (const std::string& name : names) {
    EXPECT_EQ(run[name], expected) << name;
  }
}

const std::vector<std::string>& Network() {
  static const std::vector<std::string> names = {
      "tcp",   "udp",  "netlink",    "packet",
      "vsock", "unix", "socketpair", "connect_daemon"};
  return names;
}

const std::vector<std::string>& Forbidden() {
  static const std::vector<std::string> names = {
      "fork",  "exec_setuid",    "ptrace",       "kill_parent",
      "mount", "outlive_daemon", "limit_parent", "user_namespace",
      "bpf",   "keyctl",         "module",       "kexec",
      "clock", "core_limit_up"};
  return names;
}

const std::vector<std::string>& Needed() {
  static const std::vector<std::string> names = {
      "list_icds",   "read_library_cache",
      "read_maps",   "list_sys",
      "null_device", "memfd",
      "memfd_size",  "thread",
      "signal_self", "compiled_code"};
  return names;
}

// A daemon with a database, and its files.
class SandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(daemon_.Start());
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(daemon_.state())) {
      if (entry.is_regular_file()) {
        files_.push_back(entry.path());
      }
    }
    ASSERT_FALSE(files_.empty());
  }

  // `before`: how the probe is started, as its own arguments.
  ProbeRun Attempt(std::vector<std::string> before = {}) {
    if (!before.empty()) {
      before.emplace_back(kSandboxProbe);
    }
    before.insert(before.end(), {"attempt", daemon_.socket()});
    before.insert(before.end(), files_.begin(), files_.end());
    return RunProbe(before, {"HOME=" + daemon_.folder().string()});
  }

  // What each attempt at a file of the store came to.
  void ExpectOfFiles(const ProbeRun& run, const std::string& attempt,
                     const std::string& expected) {
    for (size_t i = 0; i < files_.size(); ++i) {
      EXPECT_EQ(run[attempt + "_" + std::to_string(i)], expected)
          << attempt << " " << files_[i];
    }
  }

  DaemonProcess daemon_;
  std::vector<std::string> files_;
};

TEST_F(SandboxTest, NetworkAndDaemonsSocketAreOutOfReach) {
  KILN_SKIP_WITHOUT("system_calls");
  const ProbeRun run = Attempt();
  ExpectAll(run, Network(), "EPERM");
  EXPECT_EQ(run["io_uring"], "ENOSYS");
}

TEST_F(SandboxTest, ProcessesAndPrivilegesAreOutOfReach) {
  KILN_SKIP_WITHOUT("system_calls");
  ExpectAll(Attempt(), Forbidden(), "EPERM");
  EXPECT_OK(daemon_.Connect()->GetStatus());
}

TEST_F(SandboxTest, StoreHomeAndTemporaryFilesAreOutOfReach) {
  KILN_SKIP_WITHOUT("files");
  KILN_SKIP_WITHOUT("system_calls");
  const ProbeRun run = Attempt();
  ExpectAll(run, {"write_tmp", "write_home", "shm_file"}, "EPERM");
  ExpectAll(run, {"read_shadow", "parent_memory"}, "EACCES");
  ExpectOfFiles(run, "read", "EACCES");
  ExpectOfFiles(run, "write", "EACCES");
  for (const char* attempt : {"chmod", "unlink", "rename"}) {
    ExpectOfFiles(run, attempt, "EPERM");
  }
}

TEST_F(SandboxTest, DriversStillReadAndRunWhatTheyNeed) {
  ExpectAll(Attempt(), Needed(), "ok");
}

// Each of the two layers holds alone.
TEST_F(SandboxTest, FilesStayClosedWhereTheKernelRefusesFilters) {
  KILN_SKIP_WITHOUT("files");
  KILN_SKIP_WITHOUT("system_calls");  // it is what takes them away
  const ProbeRun run = Attempt({"without", "seccomp"});
  EXPECT_NE(run["layer_system_calls"], "ok");
  EXPECT_EQ(run["layer_files"], "ok");
  ExpectAll(run, {"write_tmp", "write_home", "shm_file", "read_shadow"},
            "EACCES");
  for (const char* attempt : {"read", "write", "unlink"}) {
    ExpectOfFiles(run, attempt, "EACCES");
  }
  ExpectAll(run, Needed(), "ok");
}

TEST_F(SandboxTest, NothingIsMadeOrRemovedWhereTheKernelLacksLandlock) {
  KILN_SKIP_WITHOUT("system_calls");
  const ProbeRun run = Attempt({"without", "landlock"});
  EXPECT_EQ(run["layer_files"],
            "landlock_create_ruleset: this kernel has no Landlock");
  ExpectAll(run, Network(), "EPERM");
  ExpectAll(run, Forbidden(), "EPERM");
  ExpectAll(run, {"write_tmp", "write_home", "shm_file"}, "EPERM");
  for (const char* attempt : {"chmod", "unlink", "rename"}) {
    ExpectOfFiles(run, attempt, "EPERM");
  }
  ExpectAll(run, Needed(), "ok");
}

TEST_F(SandboxTest, OrdinaryUsersGetTheSameSandbox) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "the other tests run as an ordinary user";
  }
  KILN_SKIP_WITHOUT("files");
  KILN_SKIP_WITHOUT("system_calls");
  const ProbeRun run = Attempt({"as", "65534"});
  if (run.exit_code == 98) {
    GTEST_SKIP() << "the build folder is closed to other users";
  }
  ExpectAll(
      run,
      {"layer_privileges", "layer_files", "layer_system_calls", "layer_limits"},
      "ok");
  ExpectAll(run, Network(), "EPERM");
  ExpectAll(run, Forbidden(), "EPERM");
  ExpectAll(run, {"read_shadow"}, "EACCES");
  ExpectAll(run, Needed(), "ok");
}

TEST(SandboxLimitsTest, MemoryIsRefusedBeyondTheLimit) {
  const ProbeRun run = RunProbe({"memory", "64"});
  EXPECT_EQ(run.exit_code, 0) << run["mib"];
}

TEST(SandboxLimitsTest, CpuTimeBeyondTheLimitEndsTheProcess) {
  EXPECT_EQ(RunProbe({"spin", "1"}).exit_code, 128 + SIGXCPU);
}

}  // namespace
}  // namespace kiln::daemon
