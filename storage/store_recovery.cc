// SPDX-License-Identifier: Apache-2.0
#include "storage/store_recovery.h"

#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "proto/status_macros.h"
#include "proto/text.h"
#include "storage/database.h"

namespace kiln::storage {
namespace {

// Returns: where the folder went.
absl::StatusOr<std::filesystem::path> SetAside(
    const std::filesystem::path& folder) {
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(
      std::chrono::system_clock::now());
  const std::string base = fmt::format("{}.damaged-{:%Y%m%dT%H%M%SZ}",
                                       folder.string(), fmt::gmtime(now));
  std::filesystem::path aside = base;
  std::error_code error;
  for (int i = 1; std::filesystem::exists(aside, error); ++i) {
    aside = fmt::format("{}.{}", base, i);
  }
  std::filesystem::rename(folder, aside, error);
  if (error) {
    return absl::DataLossError(
        fmt::format("store {}: damaged, and renaming it to {} failed: {}",
                    ToValidUtf8(folder.string()), ToValidUtf8(aside.string()),
                    error.message()));
  }
  return aside;
}

absl::StatusOr<std::unique_ptr<VariantStore>> RepairAndOpen(
    const std::filesystem::path& folder, const StoreOptions& options) {
  KILN_RETURN_IF_ERROR(Database::Repair(folder, options));
  return VariantStore::Open(folder, options);
}

}  // namespace

absl::StatusOr<RecoveredStore> OpenOrRecover(
    const std::filesystem::path& db_folder, const StoreOptions& options) {
  auto store = VariantStore::Open(db_folder, options);
  if (!absl::IsDataLoss(store.status())) {
    KILN_RETURN_IF_ERROR(store.status());
    return RecoveredStore{*std::move(store), ""};
  }
  const std::string damage(store.status().message());
  store = RepairAndOpen(db_folder, options);
  if (store.ok()) {
    return RecoveredStore{
        *std::move(store),
        fmt::format(
            "the store was damaged and is repaired; artifacts have to be "
            "compiled again ({})",
            damage)};
  }
  options.log(
      fmt::format("repair failed: {}", std::string(store.status().message())));
  KILN_ASSIGN_OR_RETURN(const std::filesystem::path aside, SetAside(db_folder));
  KILN_ASSIGN_OR_RETURN(store, VariantStore::Open(db_folder, options));
  return RecoveredStore{
      *std::move(store),
      fmt::format(
          "the store was damaged beyond repair; it was moved to {} and a "
          "new one was started ({})",
          ToValidUtf8(aside.string()), damage)};
}

}  // namespace kiln::storage
