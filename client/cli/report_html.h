// SPDX-License-Identifier: Apache-2.0
#pragma once

// The register report as one self-contained page: no scripts, no fonts, images
// or styles from elsewhere, light or dark as the reader's system is. Names in
// it come from program files and drivers, so all of them are escaped.

#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/cli/report_data.h"

namespace kiln::cli {

// Valid UTF-8, also without a target or a table.
std::string ReportPage(const Report& report);

// `text` as it must stand in HTML, between tags or in a quoted attribute.
std::string EscapeHtml(std::string_view text);

// Writes `text` to `file`, which holds either what it held before or all of
// it. Errors: PermissionDenied naming the file and the reason. Blocks: disk.
absl::Status WriteWholeFile(const std::filesystem::path& file,
                            std::string_view text);

}  // namespace kiln::cli
