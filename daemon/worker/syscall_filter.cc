// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <memory>

#include <fmt/format.h>

#include "proto/status_macros.h"

namespace kiln::daemon {
namespace {

// Fail with EPERM whatever their arguments. By name: a name that libseccomp or
// the architecture does not know is skipped.
constexpr const char* kDenied[] = {
    // Network, and sockets of any kind.
    "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4",
    // Processes and programs.
    "fork", "vfork", "execve", "execveat", "unshare", "setns",
    // Other processes.
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
    "process_mrelease", "kcmp", "pidfd_open", "pidfd_getfd",
    "pidfd_send_signal", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
    "migrate_pages", "move_pages", "perf_event_open",
    // File systems and mounts.
    "mount", "umount", "umount2", "pivot_root", "chroot", "mount_setattr",
    "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
    "swapon", "swapoff", "quotactl", "quotactl_fd", "fanotify_init",
    "fanotify_mark", "name_to_handle_at", "open_by_handle_at",
    // Files: nothing is made, removed, renamed, or given other rights.
    "creat", "truncate", "truncate64", "unlink", "unlinkat", "rename",
    "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link", "linkat",
    "symlink", "symlinkat", "mknod", "mknodat", "chmod", "fchmod", "fchmodat",
    "fchmodat2", "chown", "fchown", "lchown", "fchownat", "chown32", "fchown32",
    "lchown32", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
    "lremovexattr", "fremovexattr", "utime", "utimes", "futimesat", "utimensat",
    "utimensat_time64",
    // The kernel.
    "bpf", "userfaultfd", "init_module", "finit_module", "delete_module",
    "create_module", "kexec_load", "kexec_file_load", "reboot", "syslog",
    "acct", "sethostname", "setdomainname", "iopl", "ioperm", "modify_ldt",
    "vm86", "vm86old", "lookup_dcookie", "nfsservctl", "vhangup", "uselib",
    "settimeofday", "stime", "adjtimex", "clock_settime", "clock_settime64",
    "clock_adjtime", "clock_adjtime64",
    // Keys and users.
    "add_key", "request_key", "keyctl", "setuid", "setgid", "setreuid",
    "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid", "setgroups",
    "setuid32", "setgid32", "setreuid32", "setregid32", "setresuid32",
    "setresgid32", "setfsuid32", "setfsgid32", "setgroups32"};

// Fail with ENOSYS: their arguments lie in memory, which a filter cannot see,
// and libraries then take clone and openat. io_uring opens sockets past any
// filter.
constexpr const char* kAbsent[] = {"clone3", "openat2", "io_uring_setup",
                                   "io_uring_enter", "io_uring_register"};

// The kernel looks at 32 bits of most arguments, a filter at 64.
constexpr scmp_datum_t kLow32 = 0xffffffff;

constexpr uint32_t kDeny = SCMP_ACT_ERRNO(EPERM);

struct FilterRelease {
  void operator()(void* filter) const { seccomp_release(filter); }
};

using Filter = std::unique_ptr<void, FilterRelease>;

absl::Status FilterError(std::string_view what, int error) {
  return absl::UnavailableError(
      fmt::format("seccomp: {}: {}", what, strerror(-error)));
}

absl::Status Add(const Filter& filter, uint32_t action, const char* name) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR) {
    return absl::OkStatus();
  }
  const int error = seccomp_rule_add(filter.get(), action, number, 0);
  return error == 0 ? absl::OkStatus() : FilterError(name, error);
}

absl::Status DenyIf(const Filter& filter, const char* name,
                    scmp_arg_cmp condition) {
  const int number = seccomp_syscall_resolve_name(name);
  const int error =
      number == __NR_SCMP_ERROR
          ? 0
          : seccomp_rule_add_array(filter.get(), kDeny, number, 1, &condition);
  return error == 0 ? absl::OkStatus() : FilterError(name, error);
}

scmp_arg_cmp Is(unsigned argument, scmp_datum_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, kLow32, value};
}

scmp_arg_cmp IsNot(unsigned argument, scmp_datum_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}

scmp_arg_cmp Has(unsigned argument, scmp_datum_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, bits, bits};
}

// Calls that are denied for some arguments only.
absl::Status AddConditions(const Filter& filter) {
  const auto self = static_cast<scmp_datum_t>(getpid());
  // Threads, but no processes.
  KILN_RETURN_IF_ERROR(
      DenyIf(filter, "clone", {0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0}));
  // abort() signals itself.
  KILN_RETURN_IF_ERROR(DenyIf(filter, "kill", IsNot(0, self)));
  KILN_RETURN_IF_ERROR(DenyIf(filter, "tgkill", IsNot(0, self)));
  KILN_RETURN_IF_ERROR(DenyIf(filter, "prlimit64", IsNot(0, 0)));
  // Dying with the daemon is not optional.
  KILN_RETURN_IF_ERROR(DenyIf(filter, "prctl", Is(0, PR_SET_PDEATHSIG)));
  // Typing into the terminal that the daemon was started from.
  KILN_RETURN_IF_ERROR(DenyIf(filter, "ioctl", Is(1, TIOCSTI)));
  KILN_RETURN_IF_ERROR(DenyIf(filter, "ioctl", Is(1, TIOCLINUX)));
  for (const scmp_datum_t flag : {O_CREAT, O_TRUNC, O_TMPFILE & ~O_DIRECTORY}) {
    KILN_RETURN_IF_ERROR(DenyIf(filter, "open", Has(1, flag)));
    KILN_RETURN_IF_ERROR(DenyIf(filter, "openat", Has(2, flag)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InstallSyscallFilter() {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW));
  if (filter == nullptr) {
    return FilterError("init", -ENOMEM);
  }
  seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, kDeny);
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_NNP, 1);
  // The kernel's own error, not ECANCELED for all.
  seccomp_attr_set(filter.get(), SCMP_FLTATR_API_SYSRAWRC, 1);
  // A decision by bisection, not by walking the list: 8 steps a call, not 200.
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  for (const char* name : kDenied) {
    KILN_RETURN_IF_ERROR(Add(filter, kDeny, name));
  }
  for (const char* name : kAbsent) {
    KILN_RETURN_IF_ERROR(Add(filter, SCMP_ACT_ERRNO(ENOSYS), name));
  }
  KILN_RETURN_IF_ERROR(AddConditions(filter));
  const int error = seccomp_load(filter.get());
  return error == 0 ? absl::OkStatus() : FilterError("load", error);
}

}  // namespace kiln::daemon
