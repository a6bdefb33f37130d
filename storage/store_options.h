// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the owner of a store chooses, and what the store tells about itself.
// The store is variant_store.h.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace kiln::storage {

// Thread-compatible value.
struct StoreOptions {
  // Bytes of new rows held in memory over all column families before they are
  // written to table files. Range: 1 MiB up. Lower: more and smaller files to
  // merge. Higher: more memory, and more log to read back after a kill.
  size_t write_buffer_bytes = 16u << 20;

  // Bytes of table blocks, their indexes and filters kept in memory. Range:
  // 1 MiB up. Lower: more reads from the page cache. Higher: more memory.
  // Driver blobs are never in it: the page cache of the system holds those.
  size_t cache_bytes = 32u << 20;

  // Write-ahead log that may pile up before it is turned into table files.
  // Range: 1 MiB up. Lower: more small files. Higher: a slower open after a
  // kill, by 20 to 30 ms per MiB. Bounds the work of an open, not what a crash
  // loses.
  size_t log_bytes = 8u << 20;

  // Free bytes below which the file system is taken for full: writes answer
  // ResourceExhausted, reads go on. Range: 0 (never) up. Lower: RocksDB may
  // meet a full disk itself, after which Debian's build can abort (KNOWN_FAULTS
  // 16). Higher: storing stops earlier.
  uint64_t free_space_floor_bytes = 256u << 20;

  // Receives one line for each thing a person should know: a damaged entry, a
  // RocksDB warning. Valid UTF-8. Called from any thread, at times with locks
  // of RocksDB held: it must be thread-safe and must not call the store.
  std::function<void(std::string)> log = [](const std::string&) {};
};

// Counts since open. Thread-safe.
struct StoreCounters {
  // Entries that failed a check, were deleted and served as a miss.
  std::atomic<uint64_t> damaged_entries = 0;

  // Bytes of write-ahead log that open found damaged and passed over.
  std::atomic<uint64_t> dropped_log_bytes = 0;

  // Merges of table files that failed because of damage. The first one turns
  // merging off until the next open; reads and writes go on.
  std::atomic<uint64_t> damaged_merges = 0;

  // Writes refused because of the free-space floor.
  std::atomic<uint64_t> refused_writes = 0;
};

// Estimates that cost microseconds, however large the store is.
struct StoreCounts {
  uint64_t programs = 0;
  uint64_t modules = 0;
  uint64_t artifacts = 0;
  uint64_t disk_bytes = 0;  // tables, blob files and the write-ahead log
};

}  // namespace kiln::storage
