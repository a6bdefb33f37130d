// SPDX-License-Identifier: Apache-2.0
#pragma once

// The gRPC face of the daemon (kiln/v1/kiln.proto): one object that every call
// enters through. Unary calls are answered in service.cc; each streaming call
// has a file of its own (stream_call, register_call, ...).

#include <chrono>
#include <memory>
#include <string>

#include "daemon/counters.h"
#include "daemon/live_programs.h"
#include "daemon/program_registry.h"
#include "daemon/reloader.h"
#include "daemon/root_registry.h"
#include "daemon/scheduler.h"
#include "daemon/session_registry.h"
#include "daemon/surface_registrar.h"
#include "daemon/worker_pool.h"

namespace grpc {
class Server;
}  // namespace grpc

namespace boost::asio {
class io_context;
class thread_pool;
}  // namespace boost::asio

namespace kiln::daemon {

// Everything calls work on. Lifetime: owned by the daemon, outlives the
// service.
struct ServiceContext {
  boost::asio::io_context& io;
  boost::asio::thread_pool& store_thread;
  storage::VariantStore& store;
  ProgramRegistry& registry;
  Scheduler& scheduler;
  RootRegistry& roots;
  LivePrograms& live_programs;
  Reloader& reloader;
  SurfaceRegistrar& surfaces;
  SessionRegistry& sessions;
  AskedKeys& asked;
  WorkerPool& pool;  // io thread only
  Counters& counters;
  std::string socket;
  std::string state_folder;
  bool sealed = false;  // nothing is compiled, no source is looked at
  std::chrono::steady_clock::time_point started =
      std::chrono::steady_clock::now();
};

// The running gRPC server. It has no port: connections are handed to it.
class ServiceHost {
 public:
  // Errors: Internal when gRPC cannot start.
  static absl::StatusOr<std::unique_ptr<ServiceHost>> Start(
      ServiceContext context);

  virtual ~ServiceHost() = default;

  // Serves an accepted connection, taking over its descriptor. Thread-safe.
  virtual void AddConnection(int fd) = 0;

  // Tells every stream, also those that come later, that the daemon is
  // stopping, and ends them.
  virtual void Drain() = 0;

  // Ends what is left. A deadline, since Shutdown without one waits for ever
  // while a client keeps a stream open (KNOWN_FAULTS 22).
  // Blocks: until all calls have ended, at most about `grace` + cancellation.
  virtual void Shutdown(std::chrono::milliseconds grace) = 0;
};

}  // namespace kiln::daemon
