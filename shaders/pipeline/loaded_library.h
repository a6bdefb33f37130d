// SPDX-License-Identifier: Apache-2.0
#pragma once

// Facts about a shared library that is loaded into this process, found through
// an address inside it. Two builds of one driver version differ here and often
// nowhere else (KNOWN_FAULTS 13).

#include <string>
#include <string_view>

namespace kiln::pipeline {

// The GNU build id of the library that holds `address`, in hexadecimal; where
// it has none, "sha256:" and the digest of its file; empty if that fails too.
std::string BuildIdOf(const void* address);

// True when the read-only data of the library that holds `address` contains
// `bytes`.
bool LibraryContains(const void* address, std::string_view bytes);

}  // namespace kiln::pipeline
