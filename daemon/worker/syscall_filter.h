// SPDX-License-Identifier: Apache-2.0
#pragma once

// The system-call layer of the worker's sandbox: a seccomp filter, built by
// libseccomp (seccomp(2), seccomp_rule_add(3)). A list of what is denied, not
// of what is allowed: drivers are many and change, and what no list of ours
// knows must not end a compile. A denied call fails and the driver carries on.

#include "absl/status/status.h"

namespace kiln::daemon {

// From then on, for every thread and for good: no sockets of any family and no
// connect, bind or listen (the channel to kilnd is a pair and open already); no
// processes (threads may be started), no exec, no tracing and no other
// process's memory, signals, limits or descriptors; no mounts, namespaces,
// kernel modules, bpf, keys, io_uring, clocks or users; no file is created,
// truncated, removed, renamed, or given other rights. They fail with EPERM, or
// with ENOSYS where a library then takes the older call that can be judged.
// Calls of another architecture (i386, x32) fail with EPERM.
// Requires: PR_SET_NO_NEW_PRIVS, and that the process will not fork before.
// Errors: Unavailable, with the kernel's reason: no seccomp, or not allowed in
// this container. Then nothing is filtered.
absl::Status InstallSyscallFilter();

}  // namespace kiln::daemon
