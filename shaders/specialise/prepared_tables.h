// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a PreparedModule is made of. Internal to this folder.

#include <memory>
#include <utility>

#include "shaders/module_constants.h"
#include "shaders/specialise/constant_pool.h"
#include "shaders/specialise/control_flow.h"
#include "shaders/specialise/fold_plan.h"
#include "shaders/specialise/memory_effects.h"
#include "shaders/specialise/module_index.h"
#include "shaders/specialise/prepared_module.h"

namespace kiln::specialise {

// Thread-safe. In the order in which one is made of another.
struct PreparedModule::Tables {
  Tables(std::unique_ptr<const ModuleIndex> made,
         shaders::ModuleConstants parsed, bool decide)
      : index(std::move(made)),
        constants(std::move(parsed)),
        values_decide_validity(decide),
        flow(*index),
        plan(*index, flow, constants),
        constant_table(*index, plan),
        memory(*index) {}

  std::unique_ptr<const ModuleIndex> index;
  shaders::ModuleConstants constants;  // views the words of `index`
  bool values_decide_validity = false;
  ControlFlow flow;
  FoldPlan plan;
  ConstantTable constant_table;
  MemoryEffects memory;
};

}  // namespace kiln::specialise
