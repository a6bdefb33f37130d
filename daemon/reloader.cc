// SPDX-License-Identifier: Apache-2.0
#include "daemon/reloader.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "proto/text.h"

namespace kiln::daemon {
namespace {

// What a subscriber asked for, so that asking again replaces it.
Digest WishId(const Wish& wish) {
  return wish.front_end_only ? wish.key.program : KeyId(wish.key);
}

}  // namespace

void Reloader::Request(const std::shared_ptr<Subscriber>& subscriber, Wish wish,
                       Batch& batch) {
  const Digest program = wish.key.program;
  auto known = batch.find(program);
  if (known == batch.end()) {
    known = batch.emplace(program, programs_.Current(program)).first;
  }
  auto subscription = std::make_shared<Subscription>();
  subscription->subscriber = subscriber;
  subscription->wish = std::move(wish);
  ProgramState state;
  if (known->second.ok()) {
    state = *known->second;
  } else if (absl::IsUnavailable(known->second.status())) {
    Answer not_now;
    not_now.status = known->second.status();
    not_now.rejected = true;
    subscriber->Deliver(subscription->wish.request_id, not_now, true);
    return;
  }  // an unknown program is the scheduler's to refuse
  if (state.generation > 0) {
    absl::MutexLock lock(&mutex_);
    subscriptions_.insert_or_assign(
        SubscriptionKey(subscriber.get(), WishId(subscription->wish)),
        subscription);
    Seen& seen = seen_[program];
    seen.generation = std::max(seen.generation, state.generation);
    seen.target = subscription->wish.target;
  }
  // A Refresh that ran since this batch looked has not seen the subscription.
  if (const auto later = programs_.LastSeen(program);
      later.has_value() && later->generation > state.generation) {
    state = *later;
  }
  Ask(subscription, state);
}

void Reloader::Forget(const Subscriber* subscriber) {
  absl::MutexLock lock(&mutex_);
  auto first = subscriptions_.lower_bound({subscriber, Digest()});
  auto last = first;
  while (last != subscriptions_.end() && last->first.first == subscriber) {
    ++last;
  }
  subscriptions_.erase(first, last);
}

void Reloader::Forget(const Subscriber* subscriber,
                      const absl::flat_hash_set<uint64_t>& requests) {
  absl::MutexLock lock(&mutex_);
  auto item = subscriptions_.lower_bound({subscriber, Digest()});
  while (item != subscriptions_.end() && item->first.first == subscriber) {
    item = requests.contains(item->second->wish.request_id)
               ? subscriptions_.erase(item)
               : std::next(item);
  }
}

void Reloader::Ask(const SubscriptionPtr& subscription,
                   const ProgramState& state) {
  const Wish& wish = subscription->wish;
  bool again = false;
  {
    absl::MutexLock lock(&subscription->mutex);
    if (state.generation > 0 && state.generation <= subscription->generation) {
      return;  // somebody was faster
    }
    again = std::exchange(subscription->generation, state.generation) > 0;
  }
  if (again) {  // it waits for an earlier snapshot no more
    scheduler_.Release(wish.client, {&wish.request_id, 1}, /*tell=*/false);
  }
  auto on_answer = [this, subscription,
                    generation = state.generation](const Answer& answer) {
    Answered(subscription, generation, answer);
  };
  if (!state.status.ok()) {
    if (programs_.sealed()) {
      counters_.Add(Counter::kSealedMisses);
    }
    Answer failed;
    failed.status = state.status;
    on_answer(failed);
    return;
  }
  VariantKey key = wish.key;
  if (state.program != nullptr) {
    key.program = state.program->id();
  }
  const Asker asker{wish.client, wish.request_id, wish.urgency, wish.keep};
  if (wish.front_end_only && state.program != nullptr) {
    scheduler_.RequestFrontEnd(wish.target, state.program, asker,
                               std::move(on_answer));
  } else {
    scheduler_.Request(wish.target, std::move(key), asker,
                       std::move(on_answer));
  }
  if (subscription->subscriber.expired()) {
    scheduler_.Release(wish.client);  // it has gone while this was asked
  }
}

void Reloader::Answered(const SubscriptionPtr& subscription,
                        uint64_t generation, Answer answer) {
  bool first = false;
  {
    absl::MutexLock lock(&subscription->mutex);
    if (generation < subscription->generation) {
      return;  // a later snapshot has been asked for since
    }
    first = !std::exchange(subscription->answered, true);
  }
  answer.generation = generation;
  if (generation > 0 && answer.diagnostics != nullptr) {
    answer.diagnostics =
        MapOnce(subscription->wish.key.program, answer.diagnostics);
  }
  if (auto subscriber = subscription->subscriber.lock()) {
    subscriber->Deliver(subscription->wish.request_id, answer, first);
  }
}

// A stream sends equal diagnostics once: by pointer, so the mapped ones of one
// failure have to be one text as well.
Diagnostics Reloader::MapOnce(const Digest& program,
                              const Diagnostics& diagnostics) {
  {
    absl::MutexLock lock(&mutex_);
    if (const Mapped& mapped = mapped_[program]; mapped.from == diagnostics) {
      return mapped.to;
    }
  }
  auto to = std::make_shared<const std::string>(
      programs_.MapDiagnostics(program, *diagnostics));
  absl::MutexLock lock(&mutex_);
  mapped_[program] = {diagnostics, to};
  return to;
}

std::vector<Reloader::SubscriptionPtr> Reloader::Outdated(
    const std::map<Digest, ProgramState>& states) {
  struct Candidate {
    SubscriptionPtr subscription;
    size_t clients = 0;
  };

  std::vector<Candidate> candidates;
  {
    absl::MutexLock lock(&mutex_);
    std::map<Digest, size_t> clients;  // by what is asked for
    for (const auto& [key, subscription] : subscriptions_) {
      ++clients[key.second];
    }
    for (const auto& [key, subscription] : subscriptions_) {
      candidates.push_back({subscription, clients[key.second]});
    }
  }
  std::erase_if(candidates, [&](const Candidate& candidate) {
    auto state = states.find(candidate.subscription->wish.key.program);
    absl::MutexLock lock(&candidate.subscription->mutex);
    return state == states.end() ||
           state->second.generation <= candidate.subscription->generation;
  });
  std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::clients);
  std::vector<SubscriptionPtr> outdated;
  for (Candidate& candidate : candidates) {
    outdated.push_back(std::move(candidate.subscription));
  }
  return outdated;
}

bool Reloader::Refresh() {
  const LivePrograms::Look look = programs_.CurrentAll();
  for (const SubscriptionPtr& subscription : Outdated(look.states)) {
    Ask(subscription, look.states.at(subscription->wish.key.program));
  }
  WarmUnused(look.states);
  return look.complete;
}

// Programs that no client uses now get as far as the front end, so that what a
// save broke is in the log, and the next request is short.
void Reloader::WarmUnused(const std::map<Digest, ProgramState>& states) {
  std::vector<std::pair<OpenTargetPtr, ProgramState>> unused;
  {
    absl::MutexLock lock(&mutex_);
    absl::flat_hash_map<Digest, bool> used;
    for (const auto& [key, subscription] : subscriptions_) {
      used[subscription->wish.key.program] = true;
    }
    for (const auto& [id, state] : states) {
      Seen& seen = seen_[id];
      const bool changed =
          std::exchange(seen.generation, state.generation) < state.generation;
      if (!changed) {
        continue;
      }
      counters_.Add(Counter::kReloads);
      if (!used.contains(id) && seen.target != nullptr && state.status.ok()) {
        unused.emplace_back(seen.target, state);
      }
    }
  }
  for (const auto& [target, state] : unused) {
    scheduler_.RequestFrontEnd(target, state.program,
                               {.urgency = Urgency::kSpeculative},
                               [](const Answer&) {});
  }
}

}  // namespace kiln::daemon
