// SPDX-License-Identifier: Apache-2.0
#include "client/exchange.h"

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "client/shader_program.h"
#include "proto/text.h"

namespace kiln::client {
namespace {

// Whether an event answers a Request or a Compile.
bool IsAnswer(Event::Kind kind) {
  return kind == Event::Kind::kVariantReady ||
         kind == Event::Kind::kVariantFailed ||
         kind == Event::Kind::kRecovered || kind == Event::Kind::kShaderReady;
}

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
                      VariantKey key, const Digest& id, Urgency urgency) {
  std::string label = KeyLabel(program->program, key);
  {
    absl::MutexLock lock(&table_mutex_);
    Entry pending;
    pending.status.state = VariantState::kPending;
    pending.urgency = urgency;
    auto [found, is_new] = table_.try_emplace(id, std::move(pending));
    Entry& entry = found->second;
    if (!is_new && (entry.status.state != VariantState::kPending ||
                    std::exchange(entry.urgency, urgency) == urgency)) {
      return;  // another thread was first
    }
    pending_ += is_new ? 1 : 0;
  }
  {
    absl::MutexLock lock(&outbox_mutex_);
    outbox_.keys.push_back({id, std::move(key), std::move(label),
                            program->program.IsLiving(), urgency});
  }
  wakeup_.Notify();
}

ShaderHandle Exchange::AddShader(ShaderRequest request) {
  ShaderHandle handle;
  {
    absl::MutexLock lock(&table_mutex_);
    ShaderEntry& entry = shaders_[request.program];
    if (entry.status.state != VariantState::kUnknown) {
      return entry.handle;
    }
    entry.name = request.name;
    entry.debug_name = request.debug_name;
    entry.handle = library_.Get(request.name);
    // Of a name that was released this frame: else EndFrame would end the
    // handle before the answer is here.
    entry.owner = library_.Own(entry.handle);
    entry.status.state = VariantState::kPending;
    handle = entry.handle;
    ++pending_;
  }
  {
    absl::MutexLock lock(&outbox_mutex_);
    outbox_.shaders.push_back(std::move(request));
  }
  wakeup_.Notify();
  return handle;
}

void Exchange::ReleaseShader(ShaderHandle handle) {
  absl::flat_hash_set<Digest> programs;
  {
    absl::MutexLock lock(&table_mutex_);
    absl::erase_if(shaders_, [&](auto& item) {
      ShaderEntry& entry = item.second;
      if (!handle || entry.handle != handle) {
        return false;
      }
      Settle(entry.status.state, VariantState::kUnknown);
      programs.insert(item.first);
      return true;
    });
  }
  if (programs.empty()) {
    return;
  }
  {
    absl::MutexLock lock(&inbox_mutex_);
    std::erase_if(inbox_, [&](const News& item) {
      return IsAnswer(item.event.kind) && programs.contains(item.event.id);
    });
  }
  {
    absl::MutexLock lock(&outbox_mutex_);
    std::erase_if(outbox_.shaders, [&](const ShaderRequest& request) {
      return programs.contains(request.program);
    });
    outbox_.releases.insert(outbox_.releases.end(), programs.begin(),
                            programs.end());
  }
  wakeup_.Notify();
}

ShaderStatus Exchange::StateOf(ShaderHandle handle) const {
  absl::ReaderMutexLock lock(&table_mutex_);
  for (const auto& [program, entry] : shaders_) {
    if (entry.handle == handle) {
      return entry.status;
    }
  }
  return {};
}

void Exchange::AddSurface(SurfaceRequest request) {
  ++pending_;
  {
    absl::MutexLock lock(&outbox_mutex_);
    outbox_.surfaces.push_back(std::move(request));
  }
  wakeup_.Notify();
}

void Exchange::WaitForNews(SteadyTime deadline) const {
  absl::MutexLock lock(&inbox_mutex_);
  auto has_news = [this] { return has_news_.load(std::memory_order_relaxed); };
  inbox_mutex_.AwaitWithTimeout(
      absl::Condition(&has_news),
      absl::FromChrono(deadline - std::chrono::steady_clock::now()));
}

bool Exchange::KnowsKey(const Digest& id, Urgency urgency) const {
  absl::ReaderMutexLock lock(&table_mutex_);
  auto found = table_.find(id);
  return found != table_.end() &&
         (found->second.urgency == urgency ||
          found->second.status.state != VariantState::kPending);
}

void Exchange::WithdrawKey(const Digest& id) {
  {
    absl::MutexLock lock(&table_mutex_);
    auto found = table_.find(id);
    if (found == table_.end() ||
        found->second.status.state != VariantState::kPending) {
      return;
    }
    Settle(found->second.status.state, VariantState::kUnknown);
    table_.erase(found);
  }
  {
    absl::MutexLock lock(&inbox_mutex_);
    std::erase_if(inbox_, [&](const News& item) {
      return IsAnswer(item.event.kind) && item.event.id == id;
    });
  }
  {
    absl::MutexLock lock(&outbox_mutex_);
    std::erase_if(outbox_.keys,
                  [&](const KeyRequest& request) { return request.id == id; });
    outbox_.withdrawn.push_back(id);
  }
  wakeup_.Notify();
}

void Exchange::SetActivity(Activity activity) {
  {
    absl::MutexLock lock(&outbox_mutex_);
    outbox_.activity = activity;
  }
  wakeup_.Notify();
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
    const bool is_variant = PublishVariant(item);
    const bool is_shader = PublishShader(item);
    pending_ -= item.settles_surfaces;
    // What was released while its answer was on its way is no news.
    const bool wanted = is_variant || is_shader || !IsAnswer(item.event.kind);
    if (events != nullptr && wanted) {
      events->push_back(std::move(item.event));
    }
  }
  return !news.empty();
}

void Exchange::Settle(VariantState& state, VariantState now) {
  if (std::exchange(state, now) == VariantState::kPending) {
    --pending_;
  }
}

bool Exchange::PublishVariant(const News& item) {
  auto found = table_.find(item.event.id);
  if (found == table_.end()) {
    return false;
  }
  Entry& entry = found->second;
  switch (item.event.kind) {
    case Event::Kind::kVariantReady:
      Settle(entry.status.state, VariantState::kReady);
      ++entry.status.generation;
      entry.status.message.clear();
      entry.status.diagnostics.clear();
      entry.variant = item.variant;
      break;
    case Event::Kind::kVariantFailed:
      if (entry.variant == nullptr) {
        Settle(entry.status.state, VariantState::kFailed);
      }
      entry.status.message = item.event.message;
      entry.status.diagnostics = item.event.diagnostics;
      break;
    case Event::Kind::kRecovered:
      entry.status.message.clear();
      entry.status.diagnostics.clear();
      break;
    default:
      break;
  }
  return true;
}

void Exchange::CommitShader(ShaderEntry& entry, News& item) {
  auto owner = library_.Commit(entry.name, std::move(item.code));
  if (owner.ok()) {
    entry.owner = *std::move(owner);
    return;
  }
  const std::string_view why(owner.status().message().data(),
                             owner.status().message().size());
  item.event.kind = Event::Kind::kVariantFailed;
  item.event.label = entry.name;
  item.event.message = entry.name + ": " + ToValidUtf8(why);
  item.event.diagnostics.clear();
}

// A shader's events name its program, which is no key.
bool Exchange::PublishShader(News& item) {
  auto found = shaders_.find(item.event.id);
  if (found == shaders_.end()) {
    return false;
  }
  ShaderEntry& entry = found->second;
  ShaderStatus& status = entry.status;
  item.event.diagnostics =
      NamedDiagnostics(entry.debug_name, item.event.diagnostics);
  if (item.event.kind == Event::Kind::kShaderReady) {
    CommitShader(entry, item);
  }
  switch (item.event.kind) {
    case Event::Kind::kShaderReady:
      Settle(status.state, VariantState::kReady);
      status.message.clear();
      status.diagnostics = item.event.diagnostics;
      break;
    case Event::Kind::kVariantFailed:
      item.event.kind = Event::Kind::kShaderFailed;
      if (status.state != VariantState::kReady) {
        Settle(status.state, VariantState::kFailed);
      }
      status.message = item.event.message;
      status.diagnostics = item.event.diagnostics;
      break;
    case Event::Kind::kRecovered:
      status.message.clear();
      status.diagnostics.clear();
      break;
    default:
      break;
  }
  return true;
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

void Exchange::Failed(const Digest& id, std::string label, std::string message,
                      std::string diagnostics) {
  Event event;
  event.kind = Event::Kind::kVariantFailed;
  event.id = id;
  event.label = std::move(label);
  event.message = std::move(message);
  event.diagnostics = std::move(diagnostics);
  absl::MutexLock lock(&inbox_mutex_);
  Tell({std::move(event), nullptr});
}

void Exchange::Recovered(const Digest& id, std::string label) {
  Event event;
  event.kind = Event::Kind::kRecovered;
  event.id = id;
  event.label = std::move(label);
  absl::MutexLock lock(&inbox_mutex_);
  Tell({std::move(event), nullptr});
}

void Exchange::ShaderReady(const Digest& program, ShaderCode code,
                           std::string warnings) {
  Event event;
  event.kind = Event::Kind::kShaderReady;
  event.id = program;
  event.diagnostics = std::move(warnings);
  absl::MutexLock lock(&inbox_mutex_);
  Tell({std::move(event), nullptr, std::move(code)});
}

void Exchange::SurfaceAnswered(const SurfaceRequest& request,
                               SurfaceAnswer answer, int settles) {
  Event event;
  event.kind = answer.accepted ? Event::Kind::kSurfaceAccepted
                               : Event::Kind::kSurfaceRejected;
  event.id = request.program;
  event.label = request.name;
  event.surface_index = answer.index;
  event.message = std::move(answer.message);
  event.diagnostics = std::move(answer.diagnostics);
  absl::MutexLock lock(&inbox_mutex_);
  Tell({std::move(event), nullptr, {}, settles});
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
