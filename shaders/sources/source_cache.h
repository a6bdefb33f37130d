// SPDX-License-Identifier: Apache-2.0
#pragma once

// Source files as last read. A file whose stat did not change is not read
// again; one that was touched, but reads the same, keeps its digest. So a check
// of sources that nobody edits costs stats only.
//
// A file written twice within one tick of the clock can keep its stat, size and
// all. So what was read within `racy_window` of the file's own times is not
// trusted: the next look reads it once more, and from then on it is (git's
// "racy" rule).

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "proto/digest.h"
#include "proto/program.h"
#include "shaders/sources/include_scan.h"
#include "shaders/sources/root_file.h"

namespace kiln::sources {

// One file, prepared (source_text.h). Immutable.
struct PreparedSource {
  std::string text;
  Digest digest;                           // of `text`
  std::vector<IncludeDirective> includes;  // none in SPIR-V
};

// shared_ptr: source sets hold the text after the cache dropped it.
using SharedSource = std::shared_ptr<const PreparedSource>;

struct SourceCacheOptions {
  // Of text and scans kept; above it the least recently used go. Lower reads
  // files again, higher holds memory.
  size_t capacity_bytes = size_t{256} << 20;
  // Of trust, see above; must exceed the tick of the kernel's clock, 10 ms at
  // most. For file systems that count in seconds, two seconds are used.
  std::chrono::nanoseconds racy_window = std::chrono::milliseconds(50);
  // The time since the epoch, as files are stamped with it.
  std::function<std::chrono::nanoseconds()> now = [] {
    return std::chrono::system_clock::now().time_since_epoch();
  };
};

// Thread-safe. Files are read outside its lock: two threads may read one twice.
class SourceCache {
 public:
  explicit SourceCache(SourceCacheOptions options = {});

  // `id` names the file in the cache; it lies at `path` beneath `folder`.
  // Errors: those of RootFolder and PrepareSource, without the file's name.
  // Blocks: disk.
  absl::StatusOr<SharedSource> Load(const RootFolder& folder,
                                    const std::string& path,
                                    std::string_view id, Language language);

  struct Counters {
    uint64_t stats = 0;  // looks at a file
    uint64_t reads = 0;  // files read
  };

  Counters counters() const;

  // What is kept now, at most `capacity_bytes`.
  size_t size_bytes() const;

 private:
  struct Entry {
    FileIdentity identity;
    bool trusted = false;
    absl::StatusOr<SharedSource> source;  // an error: why it is no text
    size_t bytes = 0;
    std::list<std::string>::iterator used{};
  };

  // Returns: what is kept of `key`, or nullptr. It becomes the last used.
  const Entry* Find(const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void Keep(const std::string& key, Entry entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void Drop(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  bool IsTrusted(const FileIdentity& identity,
                 std::chrono::nanoseconds read_at) const;

  const SourceCacheOptions options_;
  mutable absl::Mutex lock_;
  std::unordered_map<std::string, Entry> entries_ ABSL_GUARDED_BY(lock_);
  std::list<std::string> used_ ABSL_GUARDED_BY(lock_);  // the oldest first
  size_t size_bytes_ ABSL_GUARDED_BY(lock_) = 0;
  Counters counters_ ABSL_GUARDED_BY(lock_);
};

}  // namespace kiln::sources
