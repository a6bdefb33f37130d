// SPDX-License-Identifier: Apache-2.0
#include "client/library_table.h"

#include <atomic>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace kiln::client {
namespace {

constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();

// One counter for all libraries, so that a handle or a pipeline hash of one
// means nothing in another. Wider than an id, so that it cannot wrap.
// Returns: 0 when there are no more.
uint32_t NextId() {
  static std::atomic<uint64_t> last{0};
  const uint64_t id = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return id <= kMost ? static_cast<uint32_t>(id) : 0;
}

size_t BytesOf(const ShaderCode& code) {
  return code.spirv->size() * sizeof(uint32_t);
}

}  // namespace

std::optional<uint32_t> LibraryTable::MakeEntry() {
  const uint32_t id = NextId();
  if (id == 0) {
    return std::nullopt;
  }
  uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  entries_[slot].id = id;
  slots_.Begin(HandleOf(slot));
  return slot;
}

void LibraryTable::Publish(uint32_t slot, ResolvedShader shader) {
  Entry& entry = entries_[slot];
  shader.id = entry.id;
  if (entry.shader != nullptr) {
    replaced_.push_back(std::move(entry.shader));
  }
  entry.shader = std::make_unique<const ResolvedShader>(std::move(shader));
  slots_.Set(slot, entry.shader.get());
}

ShaderHandle LibraryTable::Get(std::string_view name) {
  {
    absl::ReaderMutexLock lock(&mutex_);
    auto found = names_.find(absl::string_view(name.data(), name.size()));
    if (found != names_.end()) {
      return HandleOf(found->second);
    }
  }
  absl::MutexLock lock(&mutex_);
  const std::optional<uint32_t> slot = GetName(name);
  return slot ? HandleOf(*slot) : ShaderHandle();
}

std::optional<uint32_t> LibraryTable::GetName(std::string_view name) {
  auto found = names_.find(absl::string_view(name.data(), name.size()));
  if (found != names_.end()) {
    return found->second;
  }
  const std::optional<uint32_t> slot = MakeEntry();
  if (slot) {
    entries_[*slot].name = name;
    names_.emplace(std::string(name), *slot);
  }
  return slot;
}

const ResolvedShader* LibraryTable::Intern(ShaderCode& code) {
  absl::MutexLock lock(&mutex_);
  if (auto found = modules_.find(code.digest); found != modules_.end()) {
    return Keep(found->second);
  }
  const std::optional<uint32_t> slot = MakeEntry();
  if (!slot) {
    return nullptr;
  }
  modules_.emplace(code.digest, *slot);
  bytes_ += BytesOf(code);
  ResolvedShader shader;
  shader.generation = 1;
  shader.module = HandleOf(*slot);
  shader.code = std::move(code);
  Publish(*slot, std::move(shader));
  return Keep(*slot);
}

absl::Status LibraryTable::Bind(std::string_view name, ShaderHandle module) {
  absl::MutexLock lock(&mutex_);
  const std::optional<uint32_t> slot = GetName(name);
  if (!slot) {
    return absl::ResourceExhaustedError(
        fmt::format("no shader id is left for '{}'", name));
  }
  Entry& entry = entries_[*slot];
  if (entry.module == module.slot) {
    return absl::OkStatus();
  }
  ResolvedShader shader = *entries_[module.slot].shader;
  if (entry.module) {
    if (entry.shader->generation == kMost) {
      return absl::ResourceExhaustedError(
          fmt::format("shader '{}' has no generation left", name));
    }
    shader.generation = entry.shader->generation + 1;
    std::erase(entries_[*entry.module].names, *slot);
  }
  entry.module = module.slot;
  entries_[module.slot].names.push_back(*slot);
  Publish(*slot, std::move(shader));
  return absl::OkStatus();
}

const ResolvedShader* LibraryTable::Keep(uint32_t module) {
  Entry& entry = entries_[module];
  ++entry.owners;
  return entry.shader.get();
}

const ResolvedShader* LibraryTable::AddOwner(ShaderHandle handle) {
  absl::MutexLock lock(&mutex_);
  if (!handle || handle.slot >= entries_.size() ||
      entries_[handle.slot].id != handle.id ||
      entries_[handle.slot].shader == nullptr) {
    return nullptr;
  }
  return Keep(entries_[handle.slot].shader->module.slot);
}

void LibraryTable::DropOwner(ShaderHandle module) {
  absl::MutexLock lock(&mutex_);
  Entry& entry = entries_[module.slot];
  if (--entry.owners == 0 && !entry.ending) {
    entry.ending = true;
    ending_.push_back(module.slot);
  }
}

void LibraryTable::Free(uint32_t slot, Ended& ended) {
  slots_.Clear(slot);
  ended.push_back(std::move(entries_[slot].shader));
  entries_[slot] = Entry();
  free_.push_back(slot);
}

void LibraryTable::EndFrame() {
  Ended ended;  // freed after the lock: returning megabytes takes a while
  absl::MutexLock lock(&mutex_);
  ended.swap(replaced_);
  for (const uint32_t module : ending_) {
    Entry& entry = entries_[module];
    entry.ending = false;
    if (entry.owners > 0) {
      continue;
    }
    for (const uint32_t name : entry.names) {
      names_.erase(entries_[name].name);
      Free(name, ended);
    }
    bytes_ -= BytesOf(entry.shader->code);
    modules_.erase(entry.shader->code.digest);
    Free(module, ended);
  }
  ending_.clear();
}

LibraryCounts LibraryTable::counts() const {
  absl::ReaderMutexLock lock(&mutex_);
  return {names_.size(), modules_.size(), bytes_};
}

}  // namespace kiln::client
