// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "daemon/counters.h"
#include "daemon/instance_lock.h"
#include "daemon/listener.h"
#include "daemon/live_programs.h"
#include "daemon/program_registry.h"
#include "daemon/reloader.h"
#include "daemon/root_registry.h"
#include "daemon/scheduler.h"
#include "daemon/service.h"
#include "daemon/session_registry.h"
#include "daemon/source_watcher.h"
#include "daemon/surface_registrar.h"
#include "daemon/version.h"
#include "daemon/worker_pool.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "storage/store_recovery.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

// A power loss takes at most this much of what was announced (DESIGN D5).
constexpr std::chrono::milliseconds kSyncInterval{100};

// After a look at the sources that met a file which could not be read then.
constexpr std::chrono::milliseconds kRefreshRetry{500};

// Stopping: what streams get to end by themselves, and the hard limit.
constexpr std::chrono::milliseconds kShutdownGrace{500};
constexpr unsigned kHardStopSeconds = 5;

absl::Status PrepareStateFolder(const std::filesystem::path& folder) {
  const std::string name = ToValidUtf8(folder.string());
  std::error_code error;
  const bool existed = std::filesystem::exists(folder, error);
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder, error)) {
    return absl::PermissionDeniedError(
        fmt::format("state folder '{}' cannot be made: {}", name,
                    error ? error.message() : "it is not a folder"));
  }
  if (!existed) {
    chmod(folder.c_str(), 0700);
  }
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(
        fmt::format("state folder '{}' is not writable", name));
  }
  return absl::OkStatus();
}

// KILN_PRESSURE: as in ReadPressureOptions.
PressureOptions PressureFromEnvironment() {
  const char* text = std::getenv("KILN_PRESSURE");
  return ReadPressureOptions(text == nullptr ? "" : text);
}

storage::StoreOptions MakeStoreOptions() {
  storage::StoreOptions options;
  options.log = [](const std::string& line) { spdlog::warn("store {}", line); };
  return options;
}

// Members are in dependency order, so that they go in the right one.
class Daemon {
 public:
  Daemon(const DaemonOptions& options, InstanceLock lock,
         std::unique_ptr<storage::VariantStore> store)
      : options_(options),
        lock_(std::move(lock)),
        store_(std::move(store)),
        registry_(*store_),
        roots_(*store_),
        live_programs_(*store_, registry_, roots_, options.sealed),
        scheduler_(io_, store_thread_, *store_, registry_, asked_, counters_),
        reloader_(live_programs_, scheduler_, counters_),
        surfaces_(live_programs_, scheduler_, reloader_, counters_),
        pool_(WorkerPool::Create(
            io_, PoolOptions(options), counters_,
            [this](std::shared_ptr<CompileJob> job, JobOutcome outcome) {
              scheduler_.OnJobDone(std::move(job), std::move(outcome));
            })),
        watcher_(io_, {}, [this](const SourceChange&) { SourcesChanged(); }),
        signals_(io_, SIGTERM, SIGINT),
        sync_timer_(io_),
        refresh_timer_(io_) {
    scheduler_.set_pool(options.sealed ? nullptr : pool_.get());
  }

  absl::Status Run() {
    if (!options_.sealed) {
      KILN_RETURN_IF_ERROR(WatchRoots());
    }
    KILN_ASSIGN_OR_RETURN(host_,
                          ServiceHost::Start({.io = io_,
                                              .store_thread = store_thread_,
                                              .store = *store_,
                                              .registry = registry_,
                                              .scheduler = scheduler_,
                                              .roots = roots_,
                                              .live_programs = live_programs_,
                                              .reloader = reloader_,
                                              .surfaces = surfaces_,
                                              .sessions = sessions_,
                                              .asked = asked_,
                                              .pool = *pool_,
                                              .counters = counters_,
                                              .socket = options_.socket,
                                              .state_folder = options_.state,
                                              .sealed = options_.sealed}));
    KILN_ASSIGN_OR_RETURN(listener_,
                          Listener::Bind(
                              io_, options_.socket, counters_,
                              [this](int fd) { host_->AddConnection(fd); },
                              [this](absl::Status why) {
                                result_ = std::move(why);
                                Stop("socket lost");
                              }));
    signals_.async_wait([this](ErrorCode error, int signal) {
      if (!error) {
        Stop(signal == SIGTERM ? "SIGTERM" : "SIGINT");
      }
    });
    for (const std::string& text : options_.warm_targets) {
      KILN_ASSIGN_OR_RETURN(const TargetSpec spec, TargetSpec::Parse(text));
      pool_->Open(spec, [](const absl::StatusOr<OpenTargetPtr>&) {
      });  // logged by the pool
    }
    SyncLater();
    spdlog::info(
        "kilnd ready version={} pid={} socket=\"{}\" state=\"{}\" workers={}",
        kVersion, getpid(), ToValidUtf8(options_.socket),
        ToValidUtf8(options_.state), options_.workers);
    io_.run();
    return TakeDown();
  }

 private:
  static WorkerPoolOptions PoolOptions(const DaemonOptions& options) {
    return {options.worker,      options.workers,
            options.job_timeout, options.worker_memory_mb,
            options.validate,    options.sealed,
            options.sandbox,     PressureFromEnvironment()};
  }

  absl::Status WatchRoots() {
    KILN_RETURN_IF_ERROR(roots_.Load(options_.roots));
    roots_.set_on_change([this] {
      asio::post(io_, [this] {
        Watch();
        SourcesChanged();
      });
    });
    Watch();
    return absl::OkStatus();
  }

  // Folders that do not exist yet are watched for, too.
  void Watch() {
    std::vector<std::filesystem::path> folders;
    for (const RegisteredRoot& root : roots_.List()) {
      folders.emplace_back(root.folder);
    }
    if (!stopping_) {
      watcher_.Watch(std::move(folders));
    }
  }

  // Which programs are concerned is found by looking at their files. Off the
  // io thread, since that reads the disk.
  void SourcesChanged() {
    counters_.Add(Counter::kSourceChanges);
    if (!refreshing_) {
      refreshing_ = true;
      asio::post(store_thread_, [this] { Refresh(); });
    }
  }

  // On the store thread. What changes from here on asks for another one.
  void Refresh() {
    refreshing_ = false;
    if (!reloader_.Refresh()) {
      asio::post(io_, [this] { RefreshLater(); });
    }
  }

  void RefreshLater() {
    refresh_timer_.expires_after(kRefreshRetry);
    refresh_timer_.async_wait([this](ErrorCode error) {
      if (!error && !stopping_) {
        SourcesChanged();
      }
    });
  }

  // Compiles that are running are given up: their clients ask again. On the io
  // thread, whose loop goes on until the last worker and the last call are
  // gone, since calls are answered on it.
  void Stop(std::string_view why) {
    if (stopping_) {
      return;
    }
    stopping_ = true;
    spdlog::info("stopping reason=\"{}\"", why);
    alarm(kHardStopSeconds);  // the default action ends the process
    ErrorCode ignored;
    signals_.cancel(ignored);
    sync_timer_.cancel();
    refresh_timer_.cancel();
    watcher_.Stop();
    listener_->Stop();
    host_->Drain();
    pool_->Stop();
    WaitForWorkers();
  }

  void WaitForWorkers() {
    if (pool_->Snapshot().workers.empty()) {
      asio::post(store_thread_, [this] {
        host_->Shutdown(kShutdownGrace);
        io_.stop();
      });
      return;
    }
    sync_timer_.expires_after(std::chrono::milliseconds(5));
    sync_timer_.async_wait([this](ErrorCode) { WaitForWorkers(); });
  }

  absl::Status TakeDown() {
    store_thread_.join();
    if (absl::Status status = store_->Close(); !status.ok()) {
      spdlog::warn("store close failed error=\"{}\"", status.ToString());
    }
    spdlog::info("stopped");
    return result_;
  }

  void SyncLater() {
    sync_timer_.expires_after(kSyncInterval);
    sync_timer_.async_wait([this](ErrorCode error) {
      if (error || stopping_) {
        return;
      }
      asio::post(store_thread_, [this] {
        if (absl::Status status = store_->Sync(); !status.ok()) {
          counters_.Add(Counter::kStoreErrors);
        }
        asio::post(io_, [this] {
          if (!stopping_) {
            SyncLater();
          }
        });
      });
    });
  }

  const DaemonOptions& options_;
  const InstanceLock lock_;
  Counters counters_;
  const std::unique_ptr<storage::VariantStore> store_;
  asio::io_context io_{1};
  asio::thread_pool store_thread_{1};
  ProgramRegistry registry_;
  RootRegistry roots_;
  LivePrograms live_programs_;
  SessionRegistry sessions_;
  AskedKeys asked_;
  Scheduler scheduler_;
  Reloader reloader_;
  SurfaceRegistrar surfaces_;
  const std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<ServiceHost> host_;
  std::unique_ptr<Listener> listener_;
  SourceWatcher watcher_;
  asio::signal_set signals_;
  asio::steady_timer sync_timer_;
  asio::steady_timer refresh_timer_;
  std::atomic<bool> refreshing_{false};  // one look is waiting for its turn
  absl::Status result_;
  bool stopping_ = false;
};

}  // namespace

absl::Status RunDaemon(const DaemonOptions& options) {
  // Whatever is created from here on is the user's alone (KNOWN_FAULTS 24).
  umask(0077);
  if (access(options.worker.c_str(), X_OK) != 0) {
    return absl::NotFoundError(
        fmt::format("worker binary '{}' is missing or not executable",
                    ToValidUtf8(options.worker)));
  }
  const std::filesystem::path state = options.state;
  KILN_RETURN_IF_ERROR(PrepareStateFolder(state));
  KILN_ASSIGN_OR_RETURN(InstanceLock lock,
                        InstanceLock::Acquire(state / "kilnd.lock"));
  KILN_ASSIGN_OR_RETURN(
      storage::RecoveredStore recovered,
      storage::OpenOrRecover(state / "db", MakeStoreOptions()));
  if (!recovered.note.empty()) {
    spdlog::warn("store recovered note=\"{}\"", recovered.note);
  }
  Daemon daemon(options, std::move(lock), std::move(recovered.store));
  return daemon.Run();
}

}  // namespace kiln::daemon
