// SPDX-License-Identifier: Apache-2.0
#pragma once

// Changing what a store holds behind its back, through RocksDB, so that only
// Kiln's own checks can notice. For stores that nobody has open.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace rocksdb {
class ColumnFamilyHandle;
class DB;
}  // namespace rocksdb

namespace kiln::testing {

// The index of one column family in a database opened without the store.
using RawEdit = std::function<void(rocksdb::DB&, rocksdb::ColumnFamilyHandle*)>;

// Opens a closed store's database as RocksDB alone would and edits `family`,
// which is made where it is missing.
void EditRaw(const std::filesystem::path& folder, const std::string& family,
             const RawEdit& edit);

// Flips one bit of a row's value, `from_end` bytes before its end.
void FlipBit(const std::filesystem::path& folder, const std::string& family,
             const std::string& row, size_t from_end);

}  // namespace kiln::testing
