// SPDX-License-Identifier: Apache-2.0
#include "daemon/job_queue.h"

#include <algorithm>
#include <cassert>

namespace kiln::daemon {
namespace {

// Flows without jobs that are kept because of their round, before those that
// need none are looked for.
constexpr size_t kIdleFlows = 64;

}  // namespace

std::vector<Interest> JobQueue::Normal(std::span<const Interest> interests) {
  std::map<uint64_t, Urgency> last;
  for (const Interest& interest : interests) {
    last[interest.client] = interest.urgency;
  }
  std::vector<Interest> normal;
  normal.reserve(last.size());
  for (const auto& [client, urgency] : last) {
    normal.push_back({client, urgency});
  }
  return normal;
}

Urgency JobQueue::Best(const std::vector<Interest>& interests) {
  return std::ranges::min_element(interests, {}, &Interest::urgency)->urgency;
}

JobQueue::Rank JobQueue::RankOf(const Entry& entry) const {
  return {entry.interests.size(), entry.sequence, entry.job.id};
}

void JobQueue::Add(const QueuedJob& job, std::span<const Interest> interests) {
  Entry entry;
  entry.job = job;
  entry.interests = Normal(interests);
  entry.sequence = next_sequence_++;
  entry.since = clock_();
  entry.urgency = Best(entry.interests);
  const bool added = entries_.emplace(job.id, entry).second;
  assert(added);
  (void)added;
  Link(entry);
}

JobQueue::Change JobQueue::Set(uint64_t id,
                               std::span<const Interest> interests) {
  auto found = entries_.find(id);
  if (found == entries_.end()) {
    return Change::kNone;
  }
  Entry& entry = found->second;
  std::vector<Interest> normal = Normal(interests);
  if (normal == entry.interests) {
    return Change::kNone;
  }
  const Urgency before = entry.urgency;
  if (entry.taken) {
    entry.interests = std::move(normal);
    if (!entry.interests.empty()) {
      entry.urgency = Best(entry.interests);
    }
    return Change::kNone;
  }
  Unlink(entry);
  if (normal.empty()) {
    entries_.erase(found);
    return Change::kDropped;
  }
  entry.interests = std::move(normal);
  entry.urgency = Best(entry.interests);
  Link(entry);
  return entry.urgency < before ? Change::kPromoted : Change::kNone;
}

void JobQueue::PutBack(uint64_t id) {
  auto found = entries_.find(id);
  if (found == entries_.end() || !found->second.taken) {
    return;
  }
  Entry& entry = found->second;
  entry.taken = false;
  if (entry.interests.empty()) {
    entry.interests = {{0, Urgency::kSpeculative}};
    entry.urgency = Urgency::kSpeculative;
    entry.sequence = next_sequence_++;
  }
  Link(entry);
}

void JobQueue::Done(uint64_t id) {
  auto found = entries_.find(id);
  if (found == entries_.end()) {
    return;
  }
  if (!found->second.taken) {
    Unlink(found->second);
  }
  entries_.erase(found);
}

// A job lies in the flow of each client that wants it in its own class; who
// wants it less urgently has it before its turn.
void JobQueue::Link(const Entry& entry) {
  Class& cls = classes_[IndexOf(entry.urgency)];
  for (const Interest& interest : entry.interests) {
    if (interest.urgency == entry.urgency) {
      Join(cls, {interest.client, entry.job.target}, entry);
    }
  }
  cls.by_age.emplace(entry.sequence, entry.job.id);
  auto& [on_screen, background] = targets_[entry.job.target];
  ++(IsBackground(entry.urgency) ? background : on_screen);
  ++queued_;
}

void JobQueue::Unlink(const Entry& entry) {
  Class& cls = classes_[IndexOf(entry.urgency)];
  for (const Interest& interest : entry.interests) {
    if (interest.urgency == entry.urgency) {
      Leave(cls, {interest.client, entry.job.target}, entry);
    }
  }
  cls.by_age.erase({entry.sequence, entry.job.id});
  auto counted = targets_.find(entry.job.target);
  auto& [on_screen, background] = counted->second;
  --(IsBackground(entry.urgency) ? background : on_screen);
  if (on_screen + background == 0) {
    targets_.erase(counted);
  }
  --queued_;
}

void JobQueue::Join(Class& cls, const FlowKey& key, const Entry& entry) {
  Flow& flow = cls.flows[key];
  if (flow.heads.empty()) {
    if (flow.joined == 0 || flow.round < cls.round) {
      flow.round = cls.round;
      flow.joined = next_join_++;
    }
    cls.turns.emplace(flow.round, flow.joined, key);
  }
  std::set<Rank>& ranks = flow.programs[entry.job.program];
  if (!ranks.empty()) {
    flow.heads.erase({*ranks.begin(), entry.job.program});
  }
  ranks.insert(RankOf(entry));
  flow.heads.emplace(*ranks.begin(), entry.job.program);
}

void JobQueue::Leave(Class& cls, const FlowKey& key, const Entry& entry) {
  Flow& flow = cls.flows.at(key);
  auto ranks = flow.programs.find(entry.job.program);
  flow.heads.erase({*ranks->second.begin(), entry.job.program});
  ranks->second.erase(RankOf(entry));
  if (!ranks->second.empty()) {
    flow.heads.emplace(*ranks->second.begin(), entry.job.program);
    return;
  }
  flow.programs.erase(ranks);
  if (flow.heads.empty()) {
    cls.turns.erase({flow.round, flow.joined, key});
    Prune(cls);
  }
}

// An empty flow is kept while it says that its client was served in the round
// under way; afterwards it says nothing that a new one would not.
void JobQueue::Prune(Class& cls) {
  if (cls.flows.size() < 2 * cls.turns.size() + kIdleFlows) {
    return;
  }
  absl::erase_if(cls.flows, [&](const auto& item) {
    return item.second.heads.empty() && item.second.round < cls.round;
  });
}

bool JobQueue::IsOverdue(const Class& cls) const {
  return !cls.by_age.empty() &&
         clock_() - entries_.at(cls.by_age.begin()->second).since >=
             options_.overdue_after;
}

std::optional<uint64_t> JobQueue::TakeFromFlow(const FlowKey& key,
                                               const Flow& flow,
                                               const TakeFilter& filter) const {
  if (filter.target && !filter.target(key.second)) {
    return std::nullopt;
  }
  for (const auto& [rank, program] : flow.heads) {
    if (!filter.program || filter.program(key.second, program)) {
      return rank.id;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> JobQueue::TakeFrom(Class& cls,
                                           const TakeFilter& filter) {
  for (const auto& [round, joined, key] : cls.turns) {
    Flow& flow = cls.flows.at(key);
    const std::optional<uint64_t> id = TakeFromFlow(key, flow, filter);
    if (!id) {
      continue;
    }
    const FlowKey served = key;  // the turn goes
    cls.turns.erase({flow.round, flow.joined, served});
    cls.round = std::max(cls.round, flow.round);
    flow.round = cls.round + 1;
    flow.joined = next_join_++;
    cls.turns.emplace(flow.round, flow.joined, served);
    Entry& entry = entries_.at(*id);
    Unlink(entry);
    entry.taken = true;
    return id;
  }
  return std::nullopt;
}

std::optional<uint64_t> JobQueue::Take(const TakeFilter& filter) {
  std::array<Urgency, kUrgencies> order = kAllUrgencies;
  // The one overdue class that has been passed over often enough goes first.
  for (size_t i = kUrgencies - 1; i > 0; --i) {
    if (classes_[i].passed_over >= options_.overdue_share &&
        IsOverdue(classes_[i])) {
      std::rotate(order.begin(), order.begin() + static_cast<ptrdiff_t>(i),
                  order.begin() + static_cast<ptrdiff_t>(i) + 1);
      break;
    }
  }
  for (const Urgency urgency : order) {
    if (IsBackground(urgency) && !filter.background) {
      continue;
    }
    const std::optional<uint64_t> id =
        TakeFrom(classes_[IndexOf(urgency)], filter);
    if (!id) {
      continue;
    }
    classes_[IndexOf(urgency)].passed_over = 0;
    for (size_t i = IndexOf(urgency) + 1; i < kUrgencies; ++i) {
      Class& passed = classes_[i];
      passed.passed_over = IsOverdue(passed) ? passed.passed_over + 1 : 0;
    }
    return id;
  }
  return std::nullopt;
}

Urgency JobQueue::urgency(uint64_t id) const {
  return entries_.at(id).urgency;
}

std::vector<uint64_t> JobQueue::Queued() const {
  std::vector<uint64_t> ids;
  for (const auto& [id, entry] : entries_) {
    if (!entry.taken) {
      ids.push_back(id);
    }
  }
  return ids;
}

std::pair<size_t, size_t> JobQueue::SizeOf(const Digest& target) const {
  auto found = targets_.find(target);
  return found == targets_.end() ? std::pair<size_t, size_t>() : found->second;
}

std::vector<Digest> JobQueue::Targets() const {
  std::vector<Digest> targets;
  for (const auto& [target, counts] : targets_) {
    targets.push_back(target);
  }
  return targets;
}

std::chrono::milliseconds JobQueue::BackgroundAge() const {
  TimePoint oldest = clock_();
  const TimePoint now = oldest;
  for (const Class& cls : std::span(classes_).subspan(1)) {
    if (!cls.by_age.empty()) {
      oldest = std::min(oldest, entries_.at(cls.by_age.begin()->second).since);
    }
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - oldest);
}

bool JobQueue::CheckInvariants() const {
  size_t links = 0;
  size_t linked = 0;
  size_t queued = 0;
  for (const auto& [id, entry] : entries_) {
    if (entry.taken) {
      continue;
    }
    ++queued;
    if (entry.interests.empty() || Best(entry.interests) != entry.urgency) {
      return false;
    }
    for (const Interest& interest : entry.interests) {
      links += interest.urgency == entry.urgency ? 1 : 0;
    }
  }
  size_t aged = 0;
  for (const Class& cls : classes_) {
    aged += cls.by_age.size();
    size_t busy = 0;
    for (const auto& [key, flow] : cls.flows) {
      for (const auto& [program, ranks] : flow.programs) {
        linked += ranks.size();
        if (!flow.heads.contains({*ranks.begin(), program})) {
          return false;
        }
      }
      if (flow.heads.size() != flow.programs.size()) {
        return false;
      }
      busy += flow.heads.empty() ? 0 : 1;
    }
    if (busy != cls.turns.size()) {
      return false;
    }
  }
  return queued == queued_ && aged == queued_ && links == linked;
}

}  // namespace kiln::daemon
