// SPDX-License-Identifier: Apache-2.0
#pragma once

// The library's entries, and who owns what. library.h has the rules; this is
// how they are kept. Internal; engines use library.h.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/library.h"
#include "client/shader_slots.h"
#include "proto/digest.h"

namespace kiln::client {

// Both kinds of entry, and who owns what. Thread-safe as the library is.
class LibraryTable {
 public:
  // For readers: takes no lock.
  const SlotTable& slots() const { return slots_; }

  ShaderHandle Get(std::string_view name);

  // Returns: the module with this digest, with an owner more; null when no id
  // is left. `code` is moved from if it is new. Requires: it has words and a
  // digest.
  const ResolvedShader* Intern(ShaderCode& code);

  // Makes a name stand for a module. Requires: the caller owns it.
  // Errors: ResourceExhausted when no id, or no generation, is left.
  absl::Status Bind(std::string_view name, ShaderHandle module);

  // Returns: the module, with an owner more; null if there is none.
  const ResolvedShader* AddOwner(ShaderHandle handle);
  void DropOwner(ShaderHandle module);

  void EndFrame();
  LibraryCounts counts() const;

 private:
  struct Entry {
    uint32_t id = 0;                               // 0: free
    std::unique_ptr<const ResolvedShader> shader;  // what slots_ has
    // Of a name.
    std::string name;
    std::optional<uint32_t> module;  // none: not compiled
    // Of a module.
    uint64_t owners = 0;
    bool ending = false;          // is in ending_
    std::vector<uint32_t> names;  // those that stand for it
  };

  using Ended = std::vector<std::unique_ptr<const ResolvedShader>>;

  // Returns: the slot of a new entry; none when no id is left.
  std::optional<uint32_t> MakeEntry() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<uint32_t> GetName(std::string_view name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Publish(uint32_t slot, ResolvedShader shader)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ResolvedShader* Keep(uint32_t module)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Ends an entry; what readers may have seen of it goes to `ended`.
  void Free(uint32_t slot, Ended& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ShaderHandle HandleOf(uint32_t slot) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return {slot, entries_[slot].id};
  }

  SlotTable slots_;  // read without the lock, written with it

  mutable absl::Mutex mutex_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by slot
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, uint32_t> names_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Digest, uint32_t> modules_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;

  // For the next EndFrame: modules that lost their last owner, and what names
  // stood for before.
  std::vector<uint32_t> ending_ ABSL_GUARDED_BY(mutex_);
  Ended replaced_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::client
