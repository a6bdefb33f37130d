// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/specialise.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/compiler.h"
#include "shaders/freeze.h"
#include "shaders/specialise/assured_loads.h"
#include "shaders/specialise/prepared_tables.h"
#include "shaders/specialise/specialisation.h"
#include "shaders/specialise/writer.h"

namespace kiln::specialise {
namespace {

// How often branches are pinned one by one before all are, and how often code
// that was left out may tell more of what is left.
constexpr int kPatientRounds = 3;
constexpr int kMaxRounds = 8;

std::vector<Known> InitialValues(const PreparedModule::Tables& tables,
                                 const shaders::ModuleConstants& constants) {
  std::vector<Known> values = tables.plan.initial();
  for (const uint32_t id : tables.plan.specialized()) {
    const auto value = constants.Value(id);
    if (value && value->lanes.size() == 1) {
      values[id] = Known::Value(value->lanes[0]);
    }
  }
  return values;
}

std::vector<uint32_t> WriteSpecialised(
    const PreparedModule::Tables& tables,
    const shaders::ModuleConstants& constants,
    std::span<const uint32_t> unread) {
  const ModuleIndex& index = *tables.index;
  const std::vector<Known> values = InitialValues(tables, constants);
  std::vector<bool> pinned(tables.flow.blocks().size(), false);
  for (const Block& block : tables.flow.blocks()) {
    if (block.back_edge != kNone) {
      pinned[tables.flow.edges()[block.back_edge].from] = true;
    }
  }
  std::vector<bool> assured = tables.plan.assured();
  for (int round = 0;; ++round) {
    const ConstantPropagation known(index, tables.flow, tables.plan, values,
                                    pinned, assured);
    const Pruner pruner(index, tables.flow, known);
    if (!pruner.to_pin().empty()) {
      for (const uint32_t block : pruner.to_pin()) {
        pinned[block] = true;
      }
      if (round >= kPatientRounds) {
        pinned.assign(pinned.size(), true);
      }
      continue;
    }
    if (round < kMaxRounds &&
        AddAssuredLoads(index, tables.flow, tables.plan, known, assured)) {
      continue;
    }
    const Substitution substitution(index, tables.flow, tables.plan, known);
    ConstantPool pool(index, tables.constant_table);
    const Findings findings = {constants, known, pruner.plans(), substitution};
    const Liveness liveness(tables, findings, unread, pool);
    return ModuleWriter(tables, findings, liveness, pool).Write();
  }
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> SpecialiseWithout(
    const PreparedModule& module, std::span<const Constant> constants,
    std::span<const uint32_t> unread, shaders::Revalidation revalidation) {
  const PreparedModule::Tables& tables = module.tables();
  if (tables.values_decide_validity) {
    KILN_RETURN_IF_ERROR(shaders::FreezeConstants(
                             module.spirv(), constants,
                             revalidation == shaders::Revalidation::kNever
                                 ? shaders::Revalidation::kNever
                                 : shaders::Revalidation::kWhereValuesMatter)
                             .status());
  }
  shaders::ModuleConstants values = tables.constants;
  KILN_RETURN_IF_ERROR(values.Set(constants));
  std::vector<uint32_t> specialised = WriteSpecialised(tables, values, unread);
  if (revalidation == shaders::Revalidation::kAlways) {
    if (const absl::Status valid = shaders::ValidateModule(specialised);
        !valid.ok()) {
      return absl::InternalError(
          fmt::format("specialising made an invalid module: {}",
                      std::string(valid.message())));
    }
  }
  return specialised;
}

absl::StatusOr<std::vector<uint32_t>> Specialise(
    const PreparedModule& module, std::span<const Constant> constants,
    shaders::Revalidation revalidation) {
  return SpecialiseWithout(module, constants, {}, revalidation);
}

}  // namespace kiln::specialise
