// SPDX-License-Identifier: Apache-2.0
#pragma once

// What an engine's threads and the client's background thread share, and the
// only place where they meet. Three parts, each under its own lock, no two of
// which are ever held together:
//
//   table    what Resolve and StateOf answer from; written by the engine's
//            side only (Request, Poll), so the background thread never delays
//            a draw
//   inbox    background -> engine: what the next Poll will publish
//   outbox   engine -> background: programs, keys and feedback to send
//
// Internal; engines use client.h, which documents the calls.

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/client.h"
#include "client/library.h"
#include "client/wakeup.h"

namespace kiln::client {

// Feedback is statistics: losing some is better than growing without a daemon.
inline constexpr size_t kFeedbackReports = 4096;

struct KnownProgram {
  Digest id;
  Program program;
};

struct KeyRequest {
  Digest id;
  VariantKey key;  // normalised
  std::string label;
  // Its program is: the answer is for a snapshot, and later ones follow.
  bool living = false;
  Urgency urgency = Urgency::kOnScreen;
};

// A program whose front end is asked for, to have its module in the library.
struct ShaderRequest {
  Digest program;
  std::string name;  // in the library
  bool living = false;
  std::string debug_name = {};  // in front of its diagnostics; may be empty
};

struct SurfaceRequest {
  Digest program;
  std::string name;
  std::string source;
};

// What became of a SurfaceRequest.
struct SurfaceAnswer {
  bool accepted = false;
  uint32_t index = 0;
  std::string message;
  std::string diagnostics;
};

struct FeedbackReport {
  Digest key_id;
  HitFeedback feedback = HitFeedback::kCacheHit;
  std::chrono::microseconds create_time{0};
};

// Thread-safe.
class Exchange {
 public:
  // --- The engine's side. ---

  // Returns: false when it is known already.
  bool AddProgram(std::shared_ptr<const KnownProgram> program);
  std::shared_ptr<const KnownProgram> FindProgram(const Digest& id) const;

  // Enters a shader as pending, unless it is known. Returns: its handle.
  ShaderHandle AddShader(ShaderRequest request);
  // Forgets the shaders of that name, and what was asked or told of them.
  void ReleaseShader(ShaderHandle handle);
  ShaderStatus StateOf(ShaderHandle handle) const;
  void AddSurface(SurfaceRequest request);

  ShaderLibrary& library() { return library_; }

  // Keys, shaders and surfaces that wait for an answer.
  bool has_pending() const { return pending_.load() > 0; }

  // Blocks: until there is something to publish, or `deadline`.
  void WaitForNews(SteadyTime deadline) const;

  // Enters a key as pending; one that is pending already, with another urgency,
  // is asked for again.
  void AddKey(const std::shared_ptr<const KnownProgram>& program,
              VariantKey key, const Digest& id, Urgency urgency);
  // Whether AddKey would do nothing.
  bool KnowsKey(const Digest& id, Urgency urgency) const;
  // Forgets a key that is pending.
  void WithdrawKey(const Digest& id);
  void SetActivity(Activity activity);

  std::shared_ptr<const ReadyVariant> Resolve(const Digest& key_id) const;
  VariantStatus StateOf(const Digest& key_id) const;
  void AddFeedback(FeedbackReport report);

  bool Poll(std::vector<Event>* events) {
    return has_news_.load(std::memory_order_acquire) && Publish(events);
  }

  Connection connection() const;

  void set_enabled(bool enabled) { enabled_.store(enabled); }

  bool enabled() const { return enabled_.load(); }

  // --- The background thread's side. ---

  struct Outbox {
    std::vector<std::shared_ptr<const KnownProgram>> programs;
    std::vector<Digest> withdrawn;  // keys; before `keys`
    std::vector<KeyRequest> keys;   // of these programs or earlier ones
    std::vector<Digest> releases;   // programs of shaders; before `shaders`
    std::vector<ShaderRequest> shaders;
    std::vector<SurfaceRequest> surfaces;
    std::vector<FeedbackReport> feedback;
    std::optional<Activity> activity;
  };

  Outbox TakeOutbox();
  void Ready(const Digest& key_id, std::shared_ptr<const ReadyVariant> variant);
  // Of a key or, by its program's id, a shader. If there is a variant or a
  // module already, that stays.
  void Failed(const Digest& id, std::string label, std::string message,
              std::string diagnostics);
  // What failed last compiles again, to what there is already.
  void Recovered(const Digest& id, std::string label);
  void ShaderReady(const Digest& program, ShaderCode code,
                   std::string warnings);
  // `settles`: how many AddSurface calls were pending until now.
  void SurfaceAnswered(const SurfaceRequest& request, SurfaceAnswer answer,
                       int settles);
  void ProgramRefused(const KnownProgram& program, std::string message);

  // Tells the engine if state or reason differ from the last ones.
  void SetConnection(ConnectionState state, std::string reason);
  void SetDaemon(uint32_t pid, std::string version);
  void SetTarget(const Digest& target, std::string device_name);

  Wakeup& wakeup() { return wakeup_; }

 private:
  struct Entry {
    VariantStatus status;
    std::shared_ptr<const ReadyVariant> variant;
    Urgency urgency = Urgency::kOnScreen;  // as it was asked for last
  };

  struct ShaderEntry {
    std::string name;
    std::string debug_name;
    ShaderHandle handle;
    ShaderOwner owner;  // of what is committed; none before the first
    ShaderStatus status;
  };

  // An event and, where it is one of readiness, what it publishes.
  struct News {
    Event event;
    std::shared_ptr<const ReadyVariant> variant;
    ShaderCode code{};
    int settles_surfaces = 0;
  };

  bool Publish(std::vector<Event>* events);
  // Return: false when the item is about no key, or no shader, of the table.
  bool PublishVariant(const News& item)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mutex_);
  bool PublishShader(News& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mutex_);
  // Enters the module into the library. An error makes `item` a failure.
  void CommitShader(ShaderEntry& entry, News& item);
  // Notes that something pending has its first answer.
  void Settle(VariantState& state, VariantState now);
  void Tell(News news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(inbox_mutex_);

  mutable absl::Mutex table_mutex_;
  absl::flat_hash_map<Digest, std::shared_ptr<const KnownProgram>> programs_
      ABSL_GUARDED_BY(table_mutex_);
  absl::flat_hash_map<Digest, Entry> table_ ABSL_GUARDED_BY(table_mutex_);
  // By program; committed to the library by Publish.
  absl::flat_hash_map<Digest, ShaderEntry> shaders_
      ABSL_GUARDED_BY(table_mutex_);
  ShaderLibrary library_;
  std::atomic<int64_t> pending_{0};
  std::atomic<bool> enabled_{true};

  std::atomic<bool> has_news_{false};
  mutable absl::Mutex inbox_mutex_;
  std::vector<News> inbox_ ABSL_GUARDED_BY(inbox_mutex_);
  Connection connection_ ABSL_GUARDED_BY(inbox_mutex_);

  absl::Mutex outbox_mutex_;
  // Bounded by the distinct programs and keys the engine asks for; feedback by
  // kFeedbackReports.
  Outbox outbox_ ABSL_GUARDED_BY(outbox_mutex_);

  Wakeup wakeup_;
};

}  // namespace kiln::client
