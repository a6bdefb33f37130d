// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/prepared_module.h"

#include "proto/status_macros.h"
#include "shaders/freeze.h"
#include "shaders/module_limits.h"
#include "shaders/specialise/prepared_tables.h"

namespace kiln::specialise {

PreparedModule::PreparedModule(std::unique_ptr<const Tables> tables)
    : tables_(std::move(tables)) {}

PreparedModule::PreparedModule(PreparedModule&&) noexcept = default;
PreparedModule& PreparedModule::operator=(PreparedModule&&) noexcept = default;
PreparedModule::~PreparedModule() = default;

std::span<const uint32_t> PreparedModule::spirv() const {
  return tables_->index->spirv();
}

absl::StatusOr<PreparedModule> Prepare(std::vector<uint32_t> spirv) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<const ModuleIndex> index,
                        ModuleIndex::Make(std::move(spirv)));
  const std::span<const uint32_t> words = index->spirv();
  KILN_ASSIGN_OR_RETURN(shaders::ModuleConstants constants,
                        shaders::ModuleConstants::Parse(words));
  const bool decide = shaders::ValuesDecideValidity(words);
  if (!decide) {
    KILN_RETURN_IF_ERROR(shaders::CheckModuleLimits(
        words, constants, shaders::ModuleLimits::OfNoDevice()));
  }
  return PreparedModule(std::make_unique<const PreparedModule::Tables>(
      std::move(index), std::move(constants), decide));
}

}  // namespace kiln::specialise
