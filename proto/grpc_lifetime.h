// SPDX-License-Identifier: Apache-2.0
#pragma once

// gRPC as a library of the process, not of its last object.

namespace kiln {

// Keeps gRPC initialised until the process ends. Without it the destructor of
// the last channel or server shuts the library down, and in gRPC 1.51 that
// joins an executor thread which may sleep in a poller for ten seconds after a
// write had filled a connection's buffer: a daemon that does not stop, an
// engine that hangs on exit. Thread-safe; cheap when called again.
void KeepGrpcRunning();

}  // namespace kiln
