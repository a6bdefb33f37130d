// SPDX-License-Identifier: Apache-2.0
#pragma once

// The test binary started again as a child, for what one process cannot try:
// being killed, and being another user. Started by spawn, never by fork, since
// the parent has RocksDB open (KNOWN_FAULTS 29).

#include <cstdint>
#include <filesystem>
#include <optional>

#include "absl/status/status.h"

namespace kiln::storage {

// Starts a child that puts SampleArtifact(0), (1), ... until it is killed with
// SIGKILL, at once after it acknowledged `acknowledged` of them.
// Returns: how many it had acknowledged when it was gone; at least as many.
uint32_t WriteUntilKilled(const std::filesystem::path& folder,
                          uint32_t acknowledged);

// Opens the store as a user without rights. Returns: the status code of Open.
// As a user who is not root already, opens it as that one.
absl::StatusCode OpenAsNobody(const std::filesystem::path& folder);

// Returns: the exit code, where the arguments are those of such a child.
std::optional<int> RunAsChild(int argc, char** argv);

}  // namespace kiln::storage
