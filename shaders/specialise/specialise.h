// SPDX-License-Identifier: Apache-2.0
#pragma once

// Specialises SPIR-V: a module with specialization constants and their values
// to a module that has neither, nor the code that those values turn off. What
// a driver would do, once and before it: it gets less to read, and keys whose
// values select the same code get the same words (DESIGN, D6).
//
// Constants are frozen as freeze.h does. Then branches, switches and selections
// on known values are decided, code and functions that cannot be reached
// dropped, structured control flow kept; results that nothing reads, stores to
// local variables that nothing reads, unused variables, types, constants, names
// and decorations dropped, interface lists with them; ids numbered anew.
//
// What is drawn stays the same to the last bit. Decorations of all that is
// left, execution modes, capabilities, barriers, atomics, writes to memory and
// images, discards and calls stay, and no instruction moves. Outputs of the
// stage stay (but see stage_outputs.h), and inputs whose being there makes a
// fragment stage run per sample. Arithmetic of floats is never done here, and
// comparisons of them only between numbers that every device takes alike.
// Instructions that this code does not know stay with all they name; functions
// whose blocks are in an order of their own, or that have cycles which are no
// loops, stay whole. Debug information about the source (OpSource, OpLine,
// NonSemantic.Shader.DebugInfo, OpenCL.DebugInfo) is dropped, all of it; names
// of what stays stay.
//
// Not its business: anything between loops and calls that a driver's optimiser
// does better, and whether a device can run the module (module_limits.h).

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/constant.h"
#include "shaders/freeze.h"
#include "shaders/specialise/prepared_module.h"

namespace kiln::specialise {

// As FreezeConstants, of which this gives the values and errors; then the rest.
// Thread-safe. Takes time linear in the code that is left and the module's
// declarations: about a millisecond of a module of 250 KB.
// `revalidation` is what FreezeConstants takes it for; with kAlways the result
// is validated, too. By default it is not: leaving code out of a valid module
// goes by rules that keep it valid, which tests hold it to, and validating
// takes a hundred times as long.
// Returns: the specialised module. The same constants give the same words on
// every machine.
// Errors: InvalidArgument as FreezeConstants; Internal when the result is
// refused by the validator, which is a fault of this code.
absl::StatusOr<std::vector<uint32_t>> Specialise(
    const PreparedModule& module, std::span<const Constant> constants,
    shaders::Revalidation revalidation =
        shaders::Revalidation::kWhereValuesMatter);

}  // namespace kiln::specialise
