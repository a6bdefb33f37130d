// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every limit of the contract in one place, so that client, daemon and tests
// agree. Exceeding one is always an error that names the field and the limit.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace kiln::limits {

// The version of the wire contract this build speaks, and the oldest it still
// understands (kiln/v1/kiln.proto: Handshake).
inline constexpr uint32_t kProtocolVersion = 4;
inline constexpr uint32_t kOldestProtocolVersion = 4;

// gRPC refuses messages over 4 MiB on the receiving side (KNOWN_FAULTS 17).
// Blobs therefore travel in pieces far below it.
inline constexpr size_t kMaxMessageBytes = 4u << 20;
inline constexpr size_t kChunkBytes = 256u << 10;

// gRPC loses the real status once its text passes about 8 KiB.
inline constexpr size_t kStatusTextBytes = 1024;

// Compiler output kept per failure; the rest is counted.
inline constexpr size_t kDiagnosticLines = 200;
inline constexpr size_t kDiagnosticBytes = 64u << 10;

// One program: its description and all its sources together.
inline constexpr size_t kProgramBytes = 32u << 20;
inline constexpr uint32_t kProgramFiles = 4096;
inline constexpr uint32_t kProgramIncludes = 65536;
inline constexpr uint32_t kDefines = 4096;
inline constexpr uint32_t kNameBytes = 256;

// One include chain; a longer one is a cycle or a mistake (KNOWN_FAULTS 12).
inline constexpr size_t kIncludeDepth = 64;
inline constexpr size_t kIncludeCount = 10000;
inline constexpr size_t kExpandedBytes = 64u << 20;

// One module after the front end (KNOWN_FAULTS 37).
inline constexpr size_t kModuleBytes = 16u << 20;
// One pipeline-cache blob.
inline constexpr size_t kBlobBytes = 64u << 20;

// Search roots of one daemon, and what one shader or surface may hold.
inline constexpr size_t kSearchRoots = 64;
inline constexpr size_t kSurfaceBytes = 64u << 10;
inline constexpr size_t kSurfaces = 255;

inline constexpr uint32_t kFeatureBits = 64;
inline constexpr uint32_t kOverrides = 64;
inline constexpr uint32_t kOverrideSteps = 64;
inline constexpr uint32_t kRequestsPerBatch = 1024;
// A client's batch is sent once it has this much. Far below gRPC's 4 MiB: a key
// with 64 long override names has 17 KB.
inline constexpr size_t kBatchBytes = 1u << 20;
// Elements of a list in stored bytes that has no limit of its own.
inline constexpr uint32_t kSmallList = 256;
// A variant with every override is under 20 KiB: a page fits one message.
inline constexpr uint32_t kListPageSize = 100;

// Requests of one stream without an answer, or with one that the client does
// not read. Past it the daemon reads no more of the stream, so this bounds what
// it queues for each client, at about 2 KiB a request.
inline constexpr size_t kUnanswered = 4096;

// `sun_path` of a Unix socket holds 108 bytes with its terminator.
inline constexpr size_t kSocketPathBytes = 107;

}  // namespace kiln::limits
