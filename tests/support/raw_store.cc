// SPDX-License-Identifier: Apache-2.0
#include "tests/support/raw_store.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>

namespace kiln::testing {

void EditRaw(const std::filesystem::path& folder, const std::string& family,
             const RawEdit& edit) {
  rocksdb::Options options;
  std::vector<std::string> names;
  ASSERT_TRUE(
      rocksdb::DB::ListColumnFamilies(options, folder.string(), &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& name : names) {
    descriptors.emplace_back(name, rocksdb::ColumnFamilyOptions());
  }
  rocksdb::DB* raw = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> columns;
  ASSERT_TRUE(
      rocksdb::DB::Open(options, folder.string(), descriptors, &columns, &raw)
          .ok());
  const std::unique_ptr<rocksdb::DB> db(raw);
  auto found =
      std::ranges::find_if(columns, [&](rocksdb::ColumnFamilyHandle* column) {
        return column->GetName() == family;
      });
  if (found == columns.end()) {
    rocksdb::ColumnFamilyHandle* column = nullptr;
    ASSERT_TRUE(db->CreateColumnFamily({}, family, &column).ok());
    found = columns.insert(columns.end(), column);
  }
  edit(*db, *found);
  for (rocksdb::ColumnFamilyHandle* column : columns) {
    db->DestroyColumnFamilyHandle(column);
  }
}

void FlipBit(const std::filesystem::path& folder, const std::string& family,
             const std::string& row, size_t from_end) {
  EditRaw(folder, family,
          [&](rocksdb::DB& db, rocksdb::ColumnFamilyHandle* column) {
            std::string value;
            ASSERT_TRUE(db.Get({}, column, row, &value).ok());
            ASSERT_GT(value.size(), from_end);
            value[value.size() - 1 - from_end] ^= 0x10;
            ASSERT_TRUE(db.Put({}, column, row, value).ok());
          });
}

}  // namespace kiln::testing
