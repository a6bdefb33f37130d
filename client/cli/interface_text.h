// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a module declares, as the command prints it: as JSON whose names are
// part of the command's interface, and as lines for people.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "proto/module_interface.h"

namespace kiln::cli {

// entry, bindings, push_constants, constants, inputs, outputs; with
// `is_compute` also workgroup_size, and workgroup_size_ids with null where no
// constant sets it.
nlohmann::json InterfaceJson(const ModuleInterface& interface, bool is_compute);

// A line for each, under headings, without a line end at the end; headings
// with nothing below them are left out. Empty: it declares nothing.
std::string InterfaceText(const ModuleInterface& interface, bool is_compute);

}  // namespace kiln::cli
