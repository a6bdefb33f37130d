// SPDX-License-Identifier: Apache-2.0

// Longer than the house likes, since RocksDB's headers may be included from
// .cc files only, and its types tie these functions together.

#include "storage/database.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/transaction_log.h>
#include <rocksdb/write_batch.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::storage {
namespace {

constexpr std::array<const char*, kFamilyCount> kFamilyNames = {
    "meta",           "programs", "modules",       "frontend",   "artifacts",
    "artifact_index", "tunings",  "program_index", "interfaces", "shaders",
    "snapshots",      "surfaces", "targets",       "roots",      "failures"};

// Values from here up lie in blob files: merging table files then moves 100
// bytes per artifact instead of 7 KB or more.
constexpr uint64_t kBlobThresholdBytes = 1024;

// What a memtable takes from memory at a time. RocksDB's own choice is 1 MiB
// here, so that a family with one row takes that much out of the buffer which
// all share: 12,000 artifacts with 600 rows in each other family then made some
// 370 files in 3.3 s, and with this 220 in 2.4 s (2 cores under load, tmpfs).
constexpr size_t kArenaBytes = 64u << 10;

// In the line with which RocksDB reports damaged log: "<file>: dropping <n>
// bytes; <why>".
constexpr std::string_view kDropping = ": dropping ";

rocksdb::Slice ToSlice(std::string_view text) {
  return {text.data(), text.size()};
}

rocksdb::Slice ToSlice(ByteView bytes) {
  return ToSlice(AsText(bytes));
}

// `context` names the folder, and the row if there is one.
absl::Status ToStatus(std::string_view context, const rocksdb::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  const std::string text =
      Shorten(fmt::format("{}: {}", context, status.ToString()),
              limits::kStatusTextBytes);
  if (status.IsNoSpace()) {
    return absl::ResourceExhaustedError(text);
  }
  if (status.IsCorruption() || status.IsPathNotFound()) {
    return absl::DataLossError(text);
  }
  if (status.IsInvalidArgument() || status.IsNotSupported()) {
    return absl::FailedPreconditionError(text);
  }
  if (text.find("Permission denied") != text.npos ||
      text.find("Read-only file") != text.npos) {
    return absl::PermissionDeniedError(text);
  }
  if (text.find("/LOCK: ") != text.npos) {
    return absl::UnavailableError(text + " (it is open already)");
  }
  return absl::UnavailableError(text);
}

// RocksDB's own log: warnings and worse go to the injected function, and no LOG
// files pile up in the folder (KNOWN_FAULTS 44).
class InfoLog final : public rocksdb::Logger {
 public:
  InfoLog(const StoreOptions& options, StoreCounters* counters)
      : Logger(rocksdb::WARN_LEVEL), log_(options.log), counters_(counters) {}

  using Logger::Logv;

  void Logv(const char* format, va_list arguments) override {
    std::array<char, 512> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    const std::string_view line = text.data();
    CountDroppedLog(line);
    log_(Shorten(fmt::format("rocksdb: {}", line), limits::kStatusTextBytes));
  }

 private:
  // Recovery reports what it passes over in this line and nowhere else.
  void CountDroppedLog(std::string_view line) {
    const size_t found = line.find(kDropping);
    if (counters_ != nullptr && found != line.npos) {
      counters_->dropped_log_bytes +=
          std::strtoull(line.data() + found + kDropping.size(), nullptr, 10);
    }
  }

  std::function<void(std::string)> log_;
  StoreCounters* counters_;
};

// Keeps a damaged table file from stopping all writes: a merge that meets it
// fails, and by default RocksDB is read-only from then on. The entries in the
// damaged file fail their own reads, one by one.
class DamageListener final : public rocksdb::EventListener {
 public:
  explicit DamageListener(StoreCounters& counters) : counters_(counters) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason,
                         rocksdb::Status* error) override {
    if (reason == rocksdb::BackgroundErrorReason::kCompaction &&
        (error->IsCorruption() || error->IsPathNotFound())) {
      *error = rocksdb::Status::OK();
      ++counters_.damaged_merges;
      damaged_ = true;
    }
  }

  // True once after damage was met.
  bool TakeDamaged() { return damaged_.exchange(false); }

 private:
  StoreCounters& counters_;
  std::atomic<bool> damaged_ = false;
};

rocksdb::DBOptions DatabaseOptions(const StoreOptions& options,
                                   std::shared_ptr<rocksdb::Logger> log) {
  rocksdb::DBOptions db;
  db.info_log = std::move(log);
  db.info_log_level = rocksdb::WARN_LEVEL;
  db.keep_log_file_num = 2;
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  db.max_manifest_file_size = 4u << 20;
  db.max_background_jobs = 2;
  db.max_open_files = 512;  // half of the usual limit of a process
  db.db_write_buffer_size = options.write_buffer_bytes;
  db.max_total_wal_size = options.log_bytes;
  // An open after a kill then takes 295 ms rather than 347 (1,000,000
  // artifacts, 8 MB of log, medians of 3 on 2 cores under load); 58 ms if
  // closed before.
  db.avoid_flush_during_recovery = true;
  // With a damaged byte in the middle of the log, the default mode keeps the
  // records before it, drops all after it and reports success; this one drops
  // the damaged record alone (KNOWN_FAULTS 27: 600 and 1995 of 2000 kept). That
  // records may be missing from the middle is fine here: each batch is still
  // all or nothing, each value carries its own checksum, and no row needs
  // another to be right, only to be useful.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  return db;
}

std::shared_ptr<rocksdb::TableFactory> Tables(
    const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = 8u << 10;
  table.cache_index_and_filter_blocks = true;  // or memory grows with the store
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.checksum = rocksdb::kXXH3;  // CRC32C is software in Debian's build
  return std::shared_ptr<rocksdb::TableFactory>(
      rocksdb::NewBlockBasedTableFactory(table));
}

rocksdb::ColumnFamilyOptions FamilyOptions(
    Family family, const StoreOptions& options,
    const std::shared_ptr<rocksdb::TableFactory>& tables) {
  rocksdb::ColumnFamilyOptions column;
  column.table_factory = tables;
  column.write_buffer_size = options.write_buffer_bytes / 2;
  column.arena_block_size = std::min(kArenaBytes, column.write_buffer_size / 8);
  column.max_write_buffer_number = 3;
  column.target_file_size_base = 16u << 20;
  column.level_compaction_dynamic_level_bytes = true;
  // An artifact is 100 bytes of a table file, so that flushes make small files;
  // merge more of them at once, into small levels, and do not slow writes soon.
  column.level0_file_num_compaction_trigger = 8;
  column.level0_slowdown_writes_trigger = 40;
  column.level0_stop_writes_trigger = 80;
  column.max_bytes_for_level_base = 32u << 20;
  // 258 KB of SPIR-V take 120 KB in LZ4 and 70 KB in ZSTD; sources are text.
  column.compression = rocksdb::kZSTD;
  if (family == Family::kArtifacts || family == Family::kArtifactIndex ||
      family == Family::kProgramIndex) {
    column.compression = rocksdb::kNoCompression;  // digests and checksums
  }
  if (family == Family::kArtifacts) {
    column.enable_blob_files = true;
    column.min_blob_size = kBlobThresholdBytes;
    column.blob_file_size = 64u << 20;
    // A RADV blob of 2968 bytes takes 1368 in LZ4 and 1112 in ZSTD, which is
    // slower to read; and the checksum in software gets less to do.
    column.blob_compression_type = rocksdb::kLZ4Compression;
    // With garbage collection on, each merge of the base level also copies the
    // oldest part of all blobs, though there is no garbage until something
    // evicts. Eviction will turn it on for merges of its own.
    column.enable_blob_garbage_collection = false;
  }
  return column;
}

absl::Status CheckFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::string context =
      fmt::format("store {}", ToValidUtf8(folder.string()));
  if (error == std::errc::permission_denied ||
      error == std::errc::read_only_file_system) {
    return absl::PermissionDeniedError(
        fmt::format("{}: {}", context, error.message()));
  }
  if (error == std::errc::no_space_on_device) {
    return absl::ResourceExhaustedError(
        fmt::format("{}: {}", context, error.message()));
  }
  if (!std::filesystem::is_directory(folder, error)) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: not a folder, or a part of its path is not one", context));
  }
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(
        fmt::format("{}: not writable by this user", context));
  }
  return absl::OkStatus();
}

}  // namespace

class Database::Handle {
 public:
  Handle(std::filesystem::path where, const StoreOptions& options,
         StoreCounters* counters)
      : folder(std::move(where)),
        context(fmt::format("store {}", ToValidUtf8(folder.string()))),
        log(std::make_shared<InfoLog>(options, counters)),
        tables(Tables(rocksdb::NewLRUCache(options.cache_bytes))) {}

  Handle(const Handle&) = delete;  // owns the database
  Handle& operator=(const Handle&) = delete;

  ~Handle() {
    for (const auto& [name, column] : columns) {
      db->DestroyColumnFamilyHandle(column);
    }
  }

  rocksdb::ColumnFamilyHandle* column(Family family) const {
    auto found = columns.find(kFamilyNames[static_cast<size_t>(family)]);
    return found == columns.end() ? nullptr : found->second;
  }

  std::vector<rocksdb::ColumnFamilyDescriptor> Descriptors(
      const std::vector<std::string>& names,
      const StoreOptions& options) const {
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    for (const std::string& name : names) {
      rocksdb::ColumnFamilyOptions column_options;
      column_options.table_factory = tables;
      for (size_t i = 0; i < kFamilyCount; ++i) {
        if (name == kFamilyNames[i]) {
          column_options =
              FamilyOptions(static_cast<Family>(i), options, tables);
        }
      }
      descriptors.emplace_back(name, column_options);
    }
    return descriptors;
  }

  const std::filesystem::path folder;
  const std::string context;
  const std::shared_ptr<InfoLog> log;  // shared with RocksDB
  const std::shared_ptr<rocksdb::TableFactory> tables;
  std::shared_ptr<DamageListener> listener;  // shared with RocksDB
  std::unique_ptr<rocksdb::DB> db;
  // By name; those that this Kiln does not know too.
  std::map<std::string, rocksdb::ColumnFamilyHandle*> columns;
};

Database::Database(std::unique_ptr<Handle> handle, const StoreOptions& options,
                   StoreCounters& counters)
    : options_(options), counters_(counters), handle_(std::move(handle)) {}

Database::~Database() = default;

absl::StatusOr<std::unique_ptr<Database>> Database::Open(
    const std::filesystem::path& folder, const StoreOptions& options,
    StoreCounters& counters) {
  KILN_RETURN_IF_ERROR(CheckFolder(folder));
  auto handle = std::make_unique<Handle>(folder, options, &counters);
  handle->listener = std::make_shared<DamageListener>(counters);
  rocksdb::DBOptions db_options = DatabaseOptions(options, handle->log);
  db_options.listeners.push_back(handle->listener);

  // All families that are there must be opened, also those of a newer Kiln
  // (KNOWN_FAULTS 28). Looking for CURRENT does not open it.
  std::vector<std::string> names;
  std::error_code error;
  if (std::filesystem::exists(folder / "CURRENT", error)) {
    KILN_RETURN_IF_ERROR(ToStatus(
        handle->context,
        rocksdb::DB::ListColumnFamilies(db_options, folder.string(), &names)));
  } else {
    names = {rocksdb::kDefaultColumnFamilyName};
    db_options.create_if_missing = true;
  }
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> columns;
  KILN_RETURN_IF_ERROR(ToStatus(
      handle->context,
      rocksdb::DB::Open(db_options, folder.string(),
                        handle->Descriptors(names, options), &columns, &db)));
  handle->db.reset(db);
  for (rocksdb::ColumnFamilyHandle* column : columns) {
    handle->columns.emplace(column->GetName(), column);
  }
  return std::unique_ptr<Database>(
      new Database(std::move(handle), options, counters));
}

absl::Status Database::Repair(const std::filesystem::path& folder,
                              const StoreOptions& options) {
  const Handle handle(folder, options, nullptr);
  std::vector<std::string> names(kFamilyNames.begin(), kFamilyNames.end());
  names.push_back(rocksdb::kDefaultColumnFamilyName);
  rocksdb::ColumnFamilyOptions unknown;
  unknown.table_factory = handle.tables;
  KILN_RETURN_IF_ERROR(ToStatus(
      handle.context,
      rocksdb::RepairDB(folder.string(), DatabaseOptions(options, handle.log),
                        handle.Descriptors(names, options), unknown)));
  StoreCounters ignored;
  KILN_ASSIGN_OR_RETURN(auto repaired, Open(folder, options, ignored));
  return repaired->DropFamilies({Family::kArtifacts, Family::kArtifactIndex});
}

absl::Status Database::DropFamilies(std::initializer_list<Family> families) {
  for (const Family family : families) {
    auto found =
        handle_->columns.find(kFamilyNames[static_cast<size_t>(family)]);
    if (found == handle_->columns.end()) {
      continue;
    }
    KILN_RETURN_IF_ERROR(ToStatus(
        handle_->context, handle_->db->DropColumnFamily(found->second)));
    handle_->db->DestroyColumnFamilyHandle(found->second);
    handle_->columns.erase(found);
  }
  return absl::OkStatus();
}

absl::Status Database::CreateMissingFamilies() {
  std::vector<std::string> missing;
  for (const char* name : kFamilyNames) {
    if (!handle_->columns.contains(name)) {
      missing.emplace_back(name);
    }
  }
  if (missing.empty()) {
    return absl::OkStatus();
  }
  std::vector<rocksdb::ColumnFamilyHandle*> created;
  const rocksdb::Status status = handle_->db->CreateColumnFamilies(
      handle_->Descriptors(missing, options_), &created);
  for (rocksdb::ColumnFamilyHandle* column : created) {
    handle_->columns.emplace(column->GetName(), column);
  }
  return ToStatus(handle_->context, status);
}

absl::StatusOr<std::optional<std::string>> Database::Get(
    Family family, std::string_view row) const {
  rocksdb::ColumnFamilyHandle* column = handle_->column(family);
  if (column == nullptr) {
    return std::nullopt;
  }
  // RocksDB's own checksums are verified as well as ours: without, 48 of 300
  // damaged table blocks made this (assertion-enabled) build abort while it
  // decoded them. Costs 4 us for 7 KB.
  rocksdb::ReadOptions read;
  read.verify_checksums = true;
  std::string value;
  const rocksdb::Status status =
      handle_->db->Get(read, column, ToSlice(row), &value);
  if (status.IsNotFound()) {
    return std::nullopt;
  }
  KILN_RETURN_IF_ERROR(ToStatus(handle_->context, status));
  return value;
}

absl::Status Database::CheckFreeSpace() const {
  struct statvfs found;
  if (options_.free_space_floor_bytes == 0 ||
      statvfs(handle_->folder.c_str(), &found) != 0) {
    return absl::OkStatus();
  }
  const uint64_t free_bytes = uint64_t{found.f_bavail} * found.f_frsize;
  if (free_bytes >= options_.free_space_floor_bytes) {
    return absl::OkStatus();
  }
  ++counters_.refused_writes;
  return absl::ResourceExhaustedError(
      fmt::format("{}: {} bytes free, under the floor of {}", handle_->context,
                  free_bytes, options_.free_space_floor_bytes));
}

void Database::StopMergingDamage() {
  if (!handle_->listener->TakeDamaged()) {
    return;
  }
  for (const auto& [name, column] : handle_->columns) {
    // Otherwise the failing merge is tried again every second, and writes stop
    // once enough unmerged files have piled up.
    handle_->db->SetOptions(column, {{"disable_auto_compactions", "true"}});
  }
}

absl::Status Database::Apply(std::span<const RowWrite> rows) {
  StopMergingDamage();
  rocksdb::WriteBatch batch;
  for (const RowWrite& row : rows) {
    rocksdb::ColumnFamilyHandle* column = handle_->column(row.family);
    const rocksdb::Status status =
        row.value ? batch.Put(column, ToSlice(row.key), ToSlice(*row.value))
                  : batch.Delete(column, ToSlice(row.key));
    KILN_RETURN_IF_ERROR(ToStatus(handle_->context, status));
  }
  KILN_RETURN_IF_ERROR(ToStatus(
      handle_->context, handle_->db->Write(rocksdb::WriteOptions(), &batch)));
  unsynced_ = true;
  return absl::OkStatus();
}

absl::Status Database::Write(std::span<const RowWrite> rows) {
  KILN_RETURN_IF_ERROR(CheckFreeSpace());
  return Apply(rows);
}

absl::Status Database::Erase(std::span<const RowWrite> rows) {
  return Apply(rows);
}

absl::Status Database::Scan(
    Family family, std::string_view from,
    const std::function<ScanStep(std::string_view row)>& visit) const {
  rocksdb::ColumnFamilyHandle* column = handle_->column(family);
  if (column == nullptr) {
    return absl::OkStatus();
  }
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> rows(
      handle_->db->NewIterator(read, column));
  rows->Seek(ToSlice(from));
  while (rows->Valid()) {
    const ScanStep step = visit(rows->key().ToStringView());
    if (step.action == ScanStep::Action::kStop) {
      break;
    }
    if (step.action == ScanStep::Action::kSeek) {
      rows->Seek(ToSlice(step.seek));
    } else {
      rows->Next();
    }
  }
  return ToStatus(handle_->context, rows->status());
}

uint64_t Database::EstimatedRows(Family family) const {
  uint64_t rows = 0;
  handle_->db->GetIntProperty(handle_->column(family),
                              rocksdb::DB::Properties::kEstimateNumKeys, &rows);
  return rows;
}

uint64_t Database::DiskBytes() const {
  uint64_t total = 0;
  for (const auto& [name, column] : handle_->columns) {
    uint64_t tables = 0;
    uint64_t blobs = 0;
    handle_->db->GetIntProperty(
        column, rocksdb::DB::Properties::kTotalSstFilesSize, &tables);
    handle_->db->GetIntProperty(
        column, rocksdb::DB::Properties::kTotalBlobFileSize, &blobs);
    total += tables + blobs;
  }
  // What was written last is in the log alone.
  rocksdb::VectorLogPtr logs;
  if (handle_->db->GetSortedWalFiles(logs).ok()) {
    for (const auto& log : logs) {
      total += log->SizeFileBytes();
    }
  }
  return total;
}

absl::Status Database::Sync() {
  StopMergingDamage();
  if (!unsynced_.exchange(false)) {
    return absl::OkStatus();
  }
  absl::Status status = ToStatus(handle_->context, handle_->db->SyncWAL());
  if (!status.ok()) {
    unsynced_ = true;
  }
  return status;
}

absl::Status Database::Close() {
  if (handle_ == nullptr) {
    return absl::OkStatus();
  }
  std::vector<rocksdb::ColumnFamilyHandle*> columns;
  for (const auto& [name, column] : handle_->columns) {
    columns.push_back(column);
  }
  absl::Status flushed = ToStatus(
      handle_->context, handle_->db->Flush(rocksdb::FlushOptions(), columns));
  absl::Status synced = Sync();
  for (rocksdb::ColumnFamilyHandle* column : columns) {
    handle_->db->DestroyColumnFamilyHandle(column);
  }
  handle_->columns.clear();
  absl::Status closed = ToStatus(handle_->context, handle_->db->Close());
  handle_.reset();
  flushed.Update(synced);
  flushed.Update(closed);
  return flushed;
}

}  // namespace kiln::storage
