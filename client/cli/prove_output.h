// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `kiln prove` prints: the cases that differ, tables for people or an
// object a row for programs, and one line that says how it ended.

#include "client/cli/output.h"
#include "shaders/lab/prove.h"

namespace kiln::cli {

// Everything of a report but its last line. `options`: what it was made with.
void PrintProof(Output& output, const lab::ProveReport& report,
                const lab::ProveOptions& options);

void PrintProofSummary(Output& output, const lab::ProveReport& report,
                       double seconds);

}  // namespace kiln::cli
