// SPDX-License-Identifier: Apache-2.0
#pragma once

// A module read once, for all the variants that are made of it. What is in it
// is the business of the .cc files of this folder; others make one and hand it
// to specialise.h.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace kiln::specialise {

// Thread-safe. Never changes. Owns its words, and some five times their size in
// tables.
class PreparedModule {
 public:
  struct Tables;

  explicit PreparedModule(std::unique_ptr<const Tables> tables);
  PreparedModule(const PreparedModule&) = delete;  // one a module is enough
  PreparedModule& operator=(const PreparedModule&) = delete;
  PreparedModule(PreparedModule&&) noexcept;
  PreparedModule& operator=(PreparedModule&&) noexcept;
  ~PreparedModule();

  // The module as it was given.
  std::span<const uint32_t> spirv() const;

  const Tables& tables() const { return *tables_; }

 private:
  std::unique_ptr<const Tables> tables_;
};

// Reads a module. Requires: a validated one (ValidateModule, compiler.h), as
// hardly anything is checked again.
// Errors: InvalidArgument when the words are no SPIR-V module, or it declares
// what no device could hold whatever the constants are.
// Blocks: some milliseconds for a module of 250 KB.
absl::StatusOr<PreparedModule> Prepare(std::vector<uint32_t> spirv);

}  // namespace kiln::specialise
