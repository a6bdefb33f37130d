// SPDX-License-Identifier: Apache-2.0

// What a compile gone bad could try from inside the worker's sandbox, and what
// a driver must still be able to do. Run by sandbox_test.cc:
//
//   sandbox_probe attempt SOCKET FILE...   prints "name=ok" or "name=EPERM" for
//                                          each attempt, and the layers first
//   sandbox_probe memory MIB | spin SECONDS
//   sandbox_probe as UID PROGRAM ARGUMENT...
//   sandbox_probe without landlock|seccomp PROGRAM ARGUMENT...
//                                          runs PROGRAM where the kernel seems
//                                          to lack that

#include <dirent.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/worker/sandbox.h"

namespace kiln::daemon {
namespace {

// What a call of the C library came back with.
void Tell(std::string_view name, int64_t result) {
  const int error = errno;
  std::cout << name << '='
            << (result >= 0 ? "ok"
                            : std::string(strerrorname_np(error)).c_str())
            << std::endl;
}

void TryNetwork(const char* daemon_socket) {
  Tell("tcp", socket(AF_INET, SOCK_STREAM, 0));
  Tell("udp", socket(AF_INET6, SOCK_DGRAM, 0));
  Tell("netlink", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
  Tell("packet", socket(AF_PACKET, SOCK_RAW, 0));
  Tell("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
  Tell("unix", socket(AF_UNIX, SOCK_STREAM, 0));
  int pair[2];
  Tell("socketpair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
  Tell("io_uring", syscall(SYS_io_uring_setup, 4, nullptr));
  // Through a socket that the process had before.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, daemon_socket, sizeof(address.sun_path) - 1);
  Tell("connect_daemon",
       connect(3, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
}

void TryProcesses() {
  Tell("fork", fork());
  char name[] = "/bin/su";  // set-user-id root
  char* arguments[] = {name, nullptr};
  Tell("exec_setuid", execv(name, arguments));
  Tell("ptrace", ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr));
  Tell("kill_parent", kill(getppid(), 0));
  Tell("outlive_daemon", prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
  const rlimit some{1, 1};
  Tell("limit_parent", prlimit(getppid(), RLIMIT_NOFILE, &some, nullptr));
  const std::string memory = "/proc/" + std::to_string(getppid()) + "/mem";
  Tell("parent_memory", open(memory.c_str(), O_RDONLY));
}

void TryPrivileges() {
  Tell("mount", mount("none", "/mnt", "tmpfs", 0, nullptr));
  Tell("user_namespace", unshare(CLONE_NEWUSER));
  Tell("bpf", syscall(SYS_bpf, 0, nullptr, 0));
  Tell("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
  Tell("module", syscall(SYS_finit_module, 0, "", 0));
  Tell("kexec", syscall(SYS_kexec_load, 0, 0, nullptr, 0));
  Tell("clock", syscall(SYS_clock_settime, 0, nullptr));
  Tell("core_limit_up", [] {
    const rlimit more{RLIM_INFINITY, RLIM_INFINITY};
    return setrlimit(RLIMIT_CORE, &more);
  }());
}

void TryFiles(int count, char** files) {
  const std::string mine = "/tmp/kiln-probe-" + std::to_string(getpid());
  Tell("write_tmp", open(mine.c_str(), O_WRONLY | O_CREAT, 0600));
  const char* home = getenv("HOME");
  Tell("write_home", open((std::string(home ? home : "/root") + "/x").c_str(),
                          O_WRONLY | O_CREAT, 0600));
  Tell("shm_file", shm_open("/kiln-probe", O_RDWR | O_CREAT, 0600));
  Tell("read_shadow", open("/etc/shadow", O_RDONLY));
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    Tell("read_" + name, open(files[i], O_RDONLY));
    Tell("write_" + name, open(files[i], O_WRONLY));
    Tell("chmod_" + name, chmod(files[i], 0777));
    Tell("unlink_" + name, unlink(files[i]));
    Tell("rename_" + name, rename(files[i], mine.c_str()));
  }
}

// int f() { return 7; } written at run time, as LLVM does.
int RunCompiled() {
  constexpr unsigned char kCode[] = {0xb8, 7, 0, 0, 0, 0xc3};
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return -1;
  }
  memcpy(page, kCode, sizeof(kCode));
  if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0) {
    return -1;
  }
#ifdef __x86_64__
  return reinterpret_cast<int (*)()>(page)() == 7 ? 0 : -1;
#else
  return 0;
#endif
}

void TryWhatDriversNeed() {
  Tell("list_icds", opendir("/usr/share/vulkan/icd.d") != nullptr ? 0 : -1);
  Tell("read_library_cache", open("/etc/ld.so.cache", O_RDONLY));
  Tell("read_maps", open("/proc/self/maps", O_RDONLY));
  Tell("list_sys", opendir("/sys/devices") != nullptr ? 0 : -1);
  Tell("null_device", open("/dev/null", O_RDWR));
  const int memory = memfd_create("probe", MFD_CLOEXEC);
  Tell("memfd", memory);
  Tell("memfd_size", ftruncate(memory, 4096));
  int ran = -1;
  std::thread([&ran] { ran = 0; }).join();
  Tell("thread", ran);
  Tell("compiled_code", RunCompiled());
  const pid_t self = getpid();
  Tell("signal_self", kill(self, 0));
}

int Attempt(int argc, char** argv) {
  // Before the sandbox: a socket on descriptor 3, as an attacker may find one.
  const int before = socket(AF_UNIX, SOCK_STREAM, 0);
  dup2(before, 3);
  bool filtered = false;
  for (const SandboxLayer& layer : EnterSandbox()) {
    filtered |= layer.holds && layer.name == "system_calls";
    std::cout << "layer_" << layer.name << '='
              << (layer.holds ? "ok" : layer.detail.c_str()) << std::endl;
  }
  TryWhatDriversNeed();
  TryNetwork(argv[2]);
  TryFiles(argc - 3, argv + 3);
  if (filtered) {  // without, some would work, on the test that runs us
    TryProcesses();
    TryPrivileges();
  }
  return 0;
}

// Touches memory until there is no more. Exit code 0: it was refused in time.
int EatMemory(rlim_t mib) {
  const rlimit data{mib << 20, mib << 20};
  setrlimit(RLIMIT_DATA, &data);
  EnterSandbox();
  rlim_t got = 0;
  constexpr size_t kStep = 1 << 20;
  while (got < 4 * mib) {
    void* more = mmap(nullptr, kStep, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) {
      break;
    }
    memset(more, 1, kStep);
    ++got;
  }
  std::cout << "mib=" << got << std::endl;
  return got < mib ? 0 : 1;
}

int Spin(int seconds) {
  EnterSandbox();
  LimitCpuTime(std::chrono::seconds(seconds));
  std::thread([] {
    while (getppid() != 0) {  // never: what is needed is a loop with an effect
    }
  }).join();
  return 0;
}

int RunAs(uid_t user, char** command) {
  if (setgid(user) != 0 || setuid(user) != 0) {
    return 97;
  }
  execv(command[0], command);
  return 98;
}

int RunWithout(std::string_view what, char** command) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (what == "landlock") {
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
                     SCMP_SYS(landlock_create_ruleset), 0);
  } else {  // as container runtimes of old deny it
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(seccomp), 0);
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prctl), 1,
                     SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP));
  }
  if (seccomp_load(filter) != 0) {
    return 97;
  }
  execv(command[0], command);
  return 98;
}

int Main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "attempt" && argc > 2) {
    return Attempt(argc, argv);
  }
  if (mode == "memory" && argc > 2) {
    return EatMemory(static_cast<rlim_t>(atoi(argv[2])));
  }
  if (mode == "spin" && argc > 2) {
    return Spin(atoi(argv[2]));
  }
  if (mode == "as" && argc > 3) {
    return RunAs(static_cast<uid_t>(atoi(argv[2])), argv + 3);
  }
  if (mode == "without" && argc > 3) {
    return RunWithout(argv[2], argv + 3);
  }
  return 2;
}

}  // namespace
}  // namespace kiln::daemon

int main(int argc, char** argv) {
  return kiln::daemon::Main(argc, argv);
}
