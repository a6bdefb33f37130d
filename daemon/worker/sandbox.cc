// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "daemon/worker/landlock.h"
#include "daemon/worker/sandbox_paths.h"
#include "daemon/worker/syscall_filter.h"

namespace kiln::daemon {
namespace {

// A device open twice, its libraries and nodes: NVIDIA's driver holds some 40.
constexpr rlim_t kMaxDescriptors = 512;

// With a limit of 0 the kernel still pipes a dump to the program that
// core_pattern names; 1 means neither pipe nor file (core(5), and
// do_coredump() of the kernel's fs/coredump.c).
constexpr rlim_t kNoCoreDump = 1;

std::string TextOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

// Whatever the user may do, the worker may not do more by exec, and as root it
// loses what root may do beyond owning files.
SandboxLayer DropPrivileges() {
  SandboxLayer layer{"privileges", false, ""};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    layer.detail = fmt::format("PR_SET_NO_NEW_PRIVS: {}", strerror(errno));
    return layer;
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capset, &header, none) != 0) {
    layer.detail = fmt::format("capset: {}", strerror(errno));
    return layer;
  }
  layer.holds = true;
  layer.detail = "no new privileges, no capabilities";
  return layer;
}

SandboxLayer ConfineFilesOfDriver() {
  SandboxLayer layer{"files", false, ""};
  const absl::StatusOr<int> abi = ConfineFiles(FilesOfDrivers());
  layer.holds = abi.ok();
  layer.detail =
      abi.ok() ? fmt::format("landlock {}: reads drivers, writes devices", *abi)
               : TextOf(abi.status());
  return layer;
}

SandboxLayer FilterCalls() {
  SandboxLayer layer{"system_calls", false, ""};
  const absl::Status status = InstallSyscallFilter();
  layer.holds = status.ok();
  layer.detail =
      status.ok() ? "seccomp: no network, processes, tracing, mounts, new files"
                  : TextOf(status);
  return layer;
}

// Set before, from the daemon's option; here it is only looked at.
SandboxLayer ReportMemory() {
  rlimit data{};
  getrlimit(RLIMIT_DATA, &data);
  if (data.rlim_max == RLIM_INFINITY) {
    return {"memory", false, "no limit was asked for"};
  }
  return {"memory", true,
          fmt::format("rlimit: {} MiB of data", data.rlim_max >> 20)};
}

// RLIMIT_NPROC is not among them: it counts all processes and threads of the
// user, and not at all for root. The filter leaves no way to start a process.
SandboxLayer LimitResources() {
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_max = std::min(descriptors.rlim_max, kMaxDescriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  rlimit core{};
  getrlimit(RLIMIT_CORE, &core);
  core.rlim_max = std::min(core.rlim_max, kNoCoreDump);
  core.rlim_cur = core.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &descriptors) != 0 ||
      setrlimit(RLIMIT_CORE, &core) != 0) {
    return {"limits", false, fmt::format("setrlimit: {}", strerror(errno))};
  }
  return {"limits", true,
          fmt::format("CPU time of a job, {} descriptors, no core dumps",
                      descriptors.rlim_max)};
}

}  // namespace

std::vector<SandboxLayer> EnterSandbox() {
  std::vector<SandboxLayer> layers;
  layers.push_back(DropPrivileges());
  layers.push_back(ConfineFilesOfDriver());
  SandboxLayer memory = ReportMemory();
  SandboxLayer limits = LimitResources();
  layers.push_back(FilterCalls());  // last: the others need calls it forbids
  layers.push_back(std::move(memory));
  layers.push_back(std::move(limits));
  return layers;
}

bool LimitCpuTime(std::chrono::seconds limit) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  rlimit cpu{};
  getrlimit(RLIMIT_CPU, &cpu);
  const rlim_t seconds = static_cast<rlim_t>(used.ru_utime.tv_sec) +
                         static_cast<rlim_t>(used.ru_stime.tv_sec) + 2 +
                         static_cast<rlim_t>(limit.count());
  cpu.rlim_cur = std::min(cpu.rlim_max, seconds);
  return setrlimit(RLIMIT_CPU, &cpu) == 0;
}

absl::Status CheckAllHold(const std::vector<SandboxLayer>& layers) {
  std::string lacking;
  for (const SandboxLayer& layer : layers) {
    if (!layer.holds) {
      lacking += fmt::format("{}{} ({})", lacking.empty() ? "" : ", ",
                             layer.name, layer.detail);
    }
  }
  if (lacking.empty()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(fmt::format(
      "the sandbox that --sandbox=require asks for lacks: {}", lacking));
}

}  // namespace kiln::daemon
