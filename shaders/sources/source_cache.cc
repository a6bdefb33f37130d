// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/source_cache.h"

#include <algorithm>
#include <utility>

#include "proto/bytes.h"
#include "proto/status_macros.h"
#include "shaders/sources/source_text.h"

namespace kiln::sources {
namespace {

constexpr auto kCoarseWindow = std::chrono::seconds(2);

// SPIR-V and text of one file are two things.
std::string KeyOf(std::string_view id, Language language) {
  std::string key(id);
  if (language == Language::kSpirv) {
    key.push_back('\0');
  }
  return key;
}

size_t BytesOf(const absl::StatusOr<SharedSource>& source) {
  constexpr size_t kOverhead = 256;
  if (!source.ok()) {
    return kOverhead;
  }
  size_t bytes = kOverhead + (*source)->text.size();
  for (const IncludeDirective& include : (*source)->includes) {
    bytes += sizeof(include) + include.name.size();
  }
  return bytes;
}

// Returns: `before` when it is the same text, else what `bytes` say.
absl::StatusOr<SharedSource> Prepare(std::string bytes, Language language,
                                     const SharedSource& before) {
  KILN_ASSIGN_OR_RETURN(std::string text,
                        PrepareSource(std::move(bytes), language));
  if (before != nullptr && before->text == text) {
    return before;
  }
  auto source = std::make_shared<PreparedSource>();
  source->digest = Digest::Of(AsBytes(text));
  if (language != Language::kSpirv) {
    source->includes = ScanIncludes(text);
  }
  source->text = std::move(text);
  return source;
}

}  // namespace

SourceCache::SourceCache(SourceCacheOptions options)
    : options_(std::move(options)) {}

absl::StatusOr<SharedSource> SourceCache::Load(const RootFolder& folder,
                                               const std::string& path,
                                               std::string_view id,
                                               Language language) {
  const absl::StatusOr<FileIdentity> identity = folder.Stat(path);
  const std::string key = KeyOf(id, language);
  SharedSource before;
  {
    absl::MutexLock held(&lock_);
    ++counters_.stats;
    if (!identity.ok()) {
      return identity.status();
    }
    if (const Entry* entry = Find(key)) {
      if (entry->trusted && entry->identity == *identity) {
        return entry->source;
      }
      before = entry->source.ok() ? *entry->source : nullptr;
    }
    ++counters_.reads;
  }
  const std::chrono::nanoseconds read_at = options_.now();
  KILN_ASSIGN_OR_RETURN(FileContent content, folder.Read(path));
  Entry entry{content.identity, IsTrusted(content.identity, read_at),
              Prepare(std::move(content.bytes), language, before)};
  absl::StatusOr<SharedSource> source = entry.source;
  absl::MutexLock held(&lock_);
  Keep(key, std::move(entry));
  return source;
}

SourceCache::Counters SourceCache::counters() const {
  absl::MutexLock held(&lock_);
  return counters_;
}

size_t SourceCache::size_bytes() const {
  absl::MutexLock held(&lock_);
  return size_bytes_;
}

const SourceCache::Entry* SourceCache::Find(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return nullptr;
  }
  used_.splice(used_.end(), used_, found->second.used);
  return &found->second;
}

void SourceCache::Keep(const std::string& key, Entry entry) {
  Drop(key);
  entry.bytes = BytesOf(entry.source);
  size_bytes_ += entry.bytes;
  entry.used = used_.insert(used_.end(), key);
  entries_.emplace(key, std::move(entry));
  while (size_bytes_ > options_.capacity_bytes) {
    Drop(std::string(used_.front()));
  }
}

void SourceCache::Drop(const std::string& key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    size_bytes_ -= found->second.bytes;
    used_.erase(found->second.used);
    entries_.erase(found);
  }
}

bool SourceCache::IsTrusted(const FileIdentity& identity,
                            std::chrono::nanoseconds read_at) const {
  constexpr int64_t kSecond = 1'000'000'000;
  const bool coarse =
      identity.modified_ns % kSecond == 0 && identity.changed_ns % kSecond == 0;
  const std::chrono::nanoseconds window =
      coarse ? std::max<std::chrono::nanoseconds>(options_.racy_window,
                                                  kCoarseWindow)
             : options_.racy_window;
  auto is_near = [&](int64_t time_ns) {
    return std::chrono::abs(read_at - std::chrono::nanoseconds(time_ns)) <
           window;
  };
  return !is_near(identity.modified_ns) && !is_near(identity.changed_ns);
}

}  // namespace kiln::sources
