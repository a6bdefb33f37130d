// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bytes of a source file, made fit for a compiler.

#include <string>

#include "absl/status/statusor.h"
#include "proto/program.h"

namespace kiln::sources {

// Drops a UTF-8 byte order mark, which glslang takes for a token. Line ends and
// bytes that are not UTF-8 stay: both are legal in comments, and the compiler
// reports the others with their line. SPIR-V is returned as it is.
// Errors: InvalidArgument for a NUL byte, at which compilers stop reading, and
// for UTF-16; with the line, without the file's name and without its text.
absl::StatusOr<std::string> PrepareSource(std::string bytes, Language language);

}  // namespace kiln::sources
