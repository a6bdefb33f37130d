// SPDX-License-Identifier: Apache-2.0

// Who waits for what: the part of the scheduler that enters requests into
// flights, takes them out again, and tells the pool.

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "daemon/scheduler.h"

namespace kiln::daemon {
namespace {

// Requests of clients that have gone and asked to have them kept. Past it they
// are dropped, as others are: a command can ask again.
constexpr size_t kMostKept = 10000;

}  // namespace

void Scheduler::Enter(const FlightKey& key, Waiter waiter) {
  tickets_[waiter.asker.client].emplace(waiter.asker.request, key);
  flights_.at(key).waiters.push_back(std::move(waiter));
  SyncLater(key);
}

bool Scheduler::TakeTicket(const Asker& asker, const FlightKey& key) {
  auto client = tickets_.find(asker.client);
  if (client == tickets_.end()) {
    return false;
  }
  Tickets& tickets = client->second;
  auto [first, last] = tickets.equal_range(asker.request);
  for (; first != last; ++first) {
    if (first->second == key) {
      tickets.erase(first);
      if (tickets.empty()) {
        tickets_.erase(client);
      }
      return true;
    }
  }
  return false;
}

std::vector<Scheduler::Waiter> Scheduler::EndFlight(const FlightKey& key,
                                                    bool keep_tickets) {
  auto found = flights_.find(key);
  if (found == flights_.end()) {
    return {};
  }
  std::vector<Waiter> waiters = std::move(found->second.waiters);
  flights_.erase(found);
  if (!keep_tickets) {
    for (const Waiter& waiter : waiters) {
      TakeTicket(waiter.asker, key);
    }
  }
  return waiters;
}

// Takes what a client waits for out of a flight, or one request of it; tickets
// are the caller's business.
void Scheduler::Leave(const FlightKey& key, uint64_t client,
                      const uint64_t* request, std::vector<Waiter>* left) {
  auto found = flights_.find(key);
  if (found == flights_.end()) {
    return;  // it ends just now
  }
  std::vector<Waiter>& waiters = found->second.waiters;
  for (auto waiter = waiters.begin(); waiter != waiters.end();) {
    const Asker& asker = waiter->asker;
    if (asker.client != client ||
        (request != nullptr && asker.request != *request)) {
      ++waiter;
      continue;
    }
    left->push_back(std::move(*waiter));
    waiter = waiters.erase(waiter);
  }
  SyncLater(key);
}

void Scheduler::Release(uint64_t client) {
  std::vector<Waiter> left;  // destroyed after the lock
  absl::MutexLock lock(&mutex_);
  auto found = tickets_.find(client);
  if (found == tickets_.end()) {
    return;
  }
  const Tickets tickets = std::move(found->second);
  tickets_.erase(found);
  for (const auto& [request, key] : tickets) {
    std::vector<Waiter> gone;
    Leave(key, client, &request, &gone);
    for (Waiter& waiter : gone) {
      auto kept = tickets_.find(0);
      if (waiter.asker.keep &&
          (kept == tickets_.end() || kept->second.size() < kMostKept)) {
        waiter.asker = {0, request, Urgency::kWarmUp, false};
        Enter(key, std::move(waiter));
      } else {
        left.push_back(std::move(waiter));
      }
    }
  }
}

void Scheduler::Release(uint64_t client, std::span<const uint64_t> requests,
                        bool tell) {
  std::vector<Waiter> left;
  {
    absl::MutexLock lock(&mutex_);
    for (const uint64_t request : requests) {
      auto found = tickets_.find(client);
      if (found == tickets_.end()) {
        break;
      }
      auto [first, last] = found->second.equal_range(request);
      for (auto ticket = first; ticket != last; ++ticket) {
        Leave(ticket->second, client, &request, &left);
      }
      found->second.erase(first, last);
      if (found->second.empty()) {
        tickets_.erase(found);
      }
    }
  }
  if (!tell) {
    return;
  }
  Answer answer;
  answer.status = absl::CancelledError("released");
  answer.rejected = true;
  for (const Waiter& waiter : left) {
    waiter.on_answer(answer);
  }
}

void Scheduler::SyncLater(const FlightKey& key) {
  Flight& flight = flights_.at(key);
  if (!std::exchange(flight.sync_pending, true)) {
    boost::asio::post(io_, [this, key] { Sync(key); });
  }
}

// What the pool is told is what is true at this moment, so it does not matter
// in which order the changes were made.
void Scheduler::Sync(const FlightKey& key) {
  std::shared_ptr<CompileJob> job;
  std::vector<Interest> interests;
  bool is_new = false;
  {
    absl::MutexLock lock(&mutex_);
    auto found = flights_.find(key);
    if (found == flights_.end()) {
      return;
    }
    Flight& flight = found->second;
    flight.sync_pending = false;
    for (const Waiter& waiter : flight.waiters) {
      interests.push_back({waiter.asker.client, waiter.asker.urgency});
    }
    if (!flight.submitted && interests.empty()) {
      flights_.erase(found);
      return;
    }
    is_new = !std::exchange(flight.submitted, true);
    job = flight.job;
  }
  if (is_new) {
    pool_->Submit(job, interests);
    return;
  }
  if (!pool_->SetInterests(*job, interests)) {
    return;
  }
  // Dropped. Who came meanwhile starts it afresh.
  absl::MutexLock lock(&mutex_);
  Flight& flight = flights_.at(key);
  flight.submitted = false;
  if (!flight.waiters.empty()) {
    SyncLater(key);
    return;
  }
  if (!job->front_end_only) {
    asked_.Settle(key.first, key.second,
                  absl::CancelledError("nobody waits for it any more"));
  }
  flights_.erase(key);
}

}  // namespace kiln::daemon
