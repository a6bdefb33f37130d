// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/stage_outputs.h"

#include <algorithm>
#include <map>

#include "proto/status_macros.h"
#include "shaders/specialise/specialisation.h"
#include "shaders/specialise/stage_interface.h"

namespace kiln::specialise {
namespace {

using Slots = std::map<uint32_t, uint8_t>;

bool Overlap(const Slots& read, const Slots& written) {
  return std::ranges::any_of(written, [&](const auto& slot) {
    const auto found = read.find(slot.first);
    return found != read.end() && (found->second & slot.second) != 0;
  });
}

// The outputs of `producer` that `consumer` does not read.
std::vector<uint32_t> UnreadOutputs(const StageInterface& producer,
                                    const StageInterface& consumer) {
  if (producer.model != spv::ExecutionModel::Vertex ||
      consumer.model != spv::ExecutionModel::Fragment ||
      producer.entry_points != 1 || consumer.entry_points != 1 ||
      producer.captures) {
    return {};
  }
  Slots read;
  for (const InterfaceVariable& variable : consumer.variables) {
    if (variable.storage != spv::StorageClass::Input) {
      continue;
    }
    if (!variable.plain && !variable.is_built_in) {
      return {};  // who knows what it reads
    }
    for (const auto& [location, components] : variable.slots) {
      read[location] |= components;
    }
  }
  std::vector<uint32_t> unread;
  for (const InterfaceVariable& variable : producer.variables) {
    if (variable.storage == spv::StorageClass::Output && variable.plain &&
        !Overlap(read, variable.slots)) {
      unread.push_back(variable.id);
    }
  }
  return unread;
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> PruneStageOutputs(
    const PreparedModule& producer, std::span<const Constant> constants,
    std::span<const uint32_t> consumer, shaders::Revalidation revalidation) {
  KILN_ASSIGN_OR_RETURN(const StageInterface writes,
                        ReadStageInterface(producer.spirv()));
  KILN_ASSIGN_OR_RETURN(const StageInterface reads,
                        ReadStageInterface(consumer));
  return SpecialiseWithout(producer, constants, UnreadOutputs(writes, reads),
                           revalidation);
}

}  // namespace kiln::specialise
