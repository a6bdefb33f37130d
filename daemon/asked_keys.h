// SPDX-License-Identifier: Apache-2.0
#pragma once

// What was asked for since the daemon started, and how that went: how `kiln
// why` knows a key that is not stored. A digest alone does not say what is in
// the key. Forgotten with the daemon.

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "proto/digest.h"
#include "proto/variant_key.h"

namespace kiln::daemon {

struct AskedKey {
  enum class State : uint8_t { kInFlight = 1, kFailed = 2, kServed = 3 };

  Digest target;
  Digest key_id;  // of `key`
  VariantKey key;
  std::string label;  // KeyLabel
  State state = State::kInFlight;
  std::string message{};  // why it failed
};

// Thread-safe. A leaf lock: nothing is called while it is held.
class AskedKeys {
 public:
  // `limit`: keys remembered, the newest; each takes about 1 KiB. More: older
  // ones are still understood.
  explicit AskedKeys(size_t limit = 10000) : limit_(limit) {}

  // A request for a normalised key arrives: it is in flight, and the newest.
  void Ask(const Digest& target, const Digest& key_id, const VariantKey& key,
           std::string_view label);

  // How it went. Does nothing for a key that is forgotten already.
  void Settle(const Digest& target, const Digest& key_id,
              const absl::Status& status);

  // Returns: nullopt when it was not asked for, or is forgotten.
  std::optional<AskedKey> Find(const Digest& target,
                               const Digest& key_id) const;

  // Returns: at most `limit` whose key id starts with these lower-case
  // hexadecimal digits, of any target, the newest first. Takes a look at every
  // key: for people, not for programs.
  std::vector<AskedKey> FindPrefix(std::string_view key_hex_prefix,
                                   size_t limit) const;

 private:
  using Id = std::pair<Digest, Digest>;  // target and key
  using Entries = std::list<AskedKey>;

  const size_t limit_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);  // the newest first
  absl::flat_hash_map<Id, Entries::iterator> index_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::daemon
