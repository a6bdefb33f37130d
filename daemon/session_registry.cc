// SPDX-License-Identifier: Apache-2.0
#include "daemon/session_registry.h"

#include <utility>

#include "absl/random/random.h"

namespace kiln::daemon {
namespace {

constexpr std::chrono::seconds kUnattachedLifetime{60};

}  // namespace

uint64_t SessionRegistry::Open(Session session, Clock::time_point now) {
  absl::BitGen random;
  absl::MutexLock lock(&mutex_);
  absl::erase_if(entries_, [&](const auto& entry) {
    return !entry.second.attached &&
           now - entry.second.opened > kUnattachedLifetime;
  });
  uint64_t id = 0;
  while (id == 0 || entries_.contains(id)) {
    id = absl::Uniform<uint64_t>(random);
  }
  entries_.emplace(id, Entry{std::move(session), now, false});
  return id;
}

std::optional<Session> SessionRegistry::Attach(uint64_t id,
                                               Clock::time_point now) {
  absl::MutexLock lock(&mutex_);
  auto found = entries_.find(id);
  if (found == entries_.end() || found->second.attached ||
      now - found->second.opened > kUnattachedLifetime) {
    return std::nullopt;
  }
  found->second.attached = true;
  return found->second.session;
}

void SessionRegistry::SetActivity(uint64_t id, Activity activity) {
  absl::MutexLock lock(&mutex_);
  if (auto found = entries_.find(id); found != entries_.end()) {
    found->second.activity = activity;
  }
}

std::array<size_t, kActivities> SessionRegistry::activities() const {
  std::array<size_t, kActivities> counts{};
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, entry] : entries_) {
    counts[IndexOf(entry.activity)] += entry.attached ? 1 : 0;
  }
  return counts;
}

void SessionRegistry::Close(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  entries_.erase(id);
}

size_t SessionRegistry::size() const {
  absl::MutexLock lock(&mutex_);
  return entries_.size();
}

}  // namespace kiln::daemon
