// SPDX-License-Identifier: Apache-2.0
#include "daemon/asked_keys.h"

#include "proto/limits.h"
#include "proto/text.h"

namespace kiln::daemon {

void AskedKeys::Ask(const Digest& target, const Digest& key_id,
                    const VariantKey& key, std::string_view label) {
  absl::MutexLock lock(&mutex_);
  auto [found, is_new] = index_.try_emplace(Id(target, key_id));
  if (!is_new) {
    entries_.splice(entries_.begin(), entries_, found->second);
    entries_.front().state = AskedKey::State::kInFlight;
    entries_.front().message.clear();
    return;
  }
  entries_.push_front({target, key_id, key, std::string(label)});
  found->second = entries_.begin();
  if (entries_.size() > limit_) {
    index_.erase(Id(entries_.back().target, entries_.back().key_id));
    entries_.pop_back();
  }
}

void AskedKeys::Settle(const Digest& target, const Digest& key_id,
                       const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  const auto found = index_.find(Id(target, key_id));
  if (found == index_.end()) {
    return;
  }
  AskedKey& entry = *found->second;
  entry.state =
      status.ok() ? AskedKey::State::kServed : AskedKey::State::kFailed;
  entry.message = Shorten({status.message().data(), status.message().size()},
                          limits::kStatusTextBytes);
}

std::optional<AskedKey> AskedKeys::Find(const Digest& target,
                                        const Digest& key_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = index_.find(Id(target, key_id));
  return found == index_.end() ? std::nullopt
                               : std::optional<AskedKey>(*found->second);
}

std::vector<AskedKey> AskedKeys::FindPrefix(std::string_view key_hex_prefix,
                                            size_t limit) const {
  std::vector<AskedKey> found;
  absl::MutexLock lock(&mutex_);
  for (const AskedKey& entry : entries_) {
    if (found.size() == limit) {
      break;
    }
    if (entry.key_id.Hex().starts_with(key_hex_prefix)) {
      found.push_back(entry);
    }
  }
  return found;
}

}  // namespace kiln::daemon
