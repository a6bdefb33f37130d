// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text that came from a compiler, a driver, a path or a client, made safe to
// send. A proto3 `string` with one bad byte hangs the receiver's stream
// (KNOWN_FAULTS 9), and over-long status text hides the status (17).

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln {

// `text` with every byte that is not part of well-formed UTF-8, and every
// control character but newline and tab, replaced by U+FFFD.
std::string ToValidUtf8(std::string_view text);

bool IsValidUtf8(std::string_view text);

// Valid UTF-8 of at most `max_bytes` bytes, cut between characters and ending
// in "..." when something was cut.
std::string Shorten(std::string_view text, size_t max_bytes);

// A file name for a message: in single quotes, at most limits::kNameBytes.
std::string QuoteName(std::string_view name);

// Compiler output as Kiln keeps it: valid UTF-8, the first
// limits::kDiagnosticLines lines and limits::kDiagnosticBytes bytes, then
// "... and N more lines".
std::string CapDiagnostics(std::string_view text);

}  // namespace kiln
