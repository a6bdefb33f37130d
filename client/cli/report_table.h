// SPDX-License-Identifier: Apache-2.0
#pragma once

// The register report as text, for terminals and logs: figures in columns with
// their ratio to the whole shader, names last because they are long.

#include <string>

#include "client/cli/report_data.h"

namespace kiln::cli {

// "radv:vangogh: AMD RADV VANGOGH, radv Mesa 22.3.6", a table a kind, and a
// line that counts the marked variants. Lines end in '\n', but for the last.
std::string TargetReportText(const TargetReport& report);

}  // namespace kiln::cli
