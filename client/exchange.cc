// SPDX-License-Identifier: Apache-2.0
#include "client/exchange.h"

#include "proto/text.h"

namespace kiln::client {
namespace {

// Feedback is statistics: losing some is better than growing without a daemon.
constexpr size_t kFeedbackReports = 4096;

}  // namespace

bool Exchange::AddProgram(std::shared_ptr<const KnownProgram> program) {
  {
    absl::MutexLock lock(&table_mutex_);
    if (!programs_.emplace(program->id, program).second) {
      return false;
    }
  }
  {
    absl::MutexLock lock(&outbox_mutex_);
    outbox_.programs.push_back(std::move(program));
  }
  wakeup_.Notify();
  return true;
}

std::shared_ptr<const KnownProgram> Exchange::FindProgram(
    const Digest& id) const {
  absl::ReaderMutexLock lock(&table_mutex_);
  auto found = programs_.find(id);
  return found == programs_.end() ? nullptr : found->second;
}

void Exchange::AddKey(const std::shared_ptr<const KnownProgram>& program,
                      VariantKey key, const Digest& id) {
  std::string label = KeyLabel(program->program, key);
  {
    absl::MutexLock lock(&table_mutex_);
    if (!table_.try_emplace(id, Entry{{VariantState::kPending, "", ""}, {}})
             .second) {
      return;  // another thread was first
    }
  }
  {
    absl::MutexLock lock(&outbox_mutex_);
    outbox_.keys.push_back({id, std::move(key), std::move(label)});
  }
  wakeup_.Notify();
}

bool Exchange::KnowsKey(const Digest& id) const {
  absl::ReaderMutexLock lock(&table_mutex_);
  return table_.contains(id);
}

std::shared_ptr<const ReadyVariant> Exchange::Resolve(
    const Digest& key_id) const {
  if (!enabled_.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  absl::ReaderMutexLock lock(&table_mutex_);
  auto found = table_.find(key_id);
  return found == table_.end() ? nullptr : found->second.variant;
}

VariantStatus Exchange::StateOf(const Digest& key_id) const {
  absl::ReaderMutexLock lock(&table_mutex_);
  auto found = table_.find(key_id);
  return found == table_.end() ? VariantStatus{} : found->second.status;
}

void Exchange::AddFeedback(FeedbackReport report) {
  {
    absl::MutexLock lock(&outbox_mutex_);
    if (outbox_.feedback.size() >= kFeedbackReports) {
      return;
    }
    outbox_.feedback.push_back(report);
  }
  wakeup_.Notify();
}

bool Exchange::Publish(std::vector<Event>* events) {
  std::vector<News> news;
  {
    absl::MutexLock lock(&inbox_mutex_);
    news.swap(inbox_);
    has_news_.store(false, std::memory_order_relaxed);
  }
  absl::MutexLock lock(&table_mutex_);
  for (News& item : news) {
    Entry* entry = nullptr;
    if (auto found = table_.find(item.event.id); found != table_.end()) {
      entry = &found->second;
    }
    if (item.event.kind == Event::Kind::kVariantReady && entry != nullptr) {
      *entry = {{VariantState::kReady, "", ""}, std::move(item.variant)};
    } else if (item.event.kind == Event::Kind::kVariantFailed &&
               entry != nullptr) {
      *entry = {
          {VariantState::kFailed, item.event.message, item.event.diagnostics},
          nullptr};
    }
    if (events != nullptr) {
      events->push_back(std::move(item.event));
    }
  }
  return !news.empty();
}

Connection Exchange::connection() const {
  absl::MutexLock lock(&inbox_mutex_);
  return connection_;
}

Exchange::Outbox Exchange::TakeOutbox() {
  absl::MutexLock lock(&outbox_mutex_);
  return std::exchange(outbox_, {});
}

void Exchange::Tell(News news) {
  inbox_.push_back(std::move(news));
  has_news_.store(true, std::memory_order_release);
}

void Exchange::Ready(const Digest& key_id,
                     std::shared_ptr<const ReadyVariant> variant) {
  Event event;
  event.kind = Event::Kind::kVariantReady;
  event.id = key_id;
  event.label = variant->label;
  absl::MutexLock lock(&inbox_mutex_);
  Tell({std::move(event), std::move(variant)});
}

void Exchange::Failed(const Digest& key_id, std::string label,
                      std::string message, std::string diagnostics) {
  Event event;
  event.kind = Event::Kind::kVariantFailed;
  event.id = key_id;
  event.label = std::move(label);
  event.message = std::move(message);
  event.diagnostics = std::move(diagnostics);
  absl::MutexLock lock(&inbox_mutex_);
  Tell({std::move(event), nullptr});
}

void Exchange::ProgramRefused(const KnownProgram& program,
                              std::string message) {
  Event event;
  event.kind = Event::Kind::kProgramRefused;
  event.id = program.id;
  event.label = program.program.name;
  event.message = std::move(message);
  absl::MutexLock lock(&inbox_mutex_);
  Tell({std::move(event), nullptr});
}

void Exchange::SetConnection(ConnectionState state, std::string reason) {
  absl::MutexLock lock(&inbox_mutex_);
  if (connection_.state == state && connection_.reason == reason) {
    return;
  }
  connection_.state = state;
  connection_.reason = reason;
  Event event;
  event.kind = Event::Kind::kConnection;
  event.connection = state;
  event.message = std::move(reason);
  Tell({std::move(event), nullptr});
}

void Exchange::SetDaemon(uint32_t pid, std::string version) {
  absl::MutexLock lock(&inbox_mutex_);
  connection_.daemon_pid = pid;
  connection_.daemon_version = std::move(version);
}

void Exchange::SetTarget(const Digest& target, std::string device_name) {
  absl::MutexLock lock(&inbox_mutex_);
  connection_.target = target;
  connection_.device_name = std::move(device_name);
}

}  // namespace kiln::client
