// SPDX-License-Identifier: Apache-2.0
#pragma once

// The envelope around every value of the store. It binds a payload to its kind
// and to the row it lies in, so that a flipped bit, a torn write or a row that
// ended up under another key is noticed before the payload is used. It is not
// a signature: it protects against faults, not against an attacker.
//
//   0   U32  magic: "KEV" and the format version
//   4   U32  kind
//   8   U64  payload length
//   16  16   XXH3-128 over bytes 0 to 15, the row key and the payload
//   32       payload
//
// The grammar and an example are in FORMAT.md.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "proto/bytes.h"

namespace kiln::storage {

inline constexpr uint32_t kEnvelopeMagic = 0x0156454B;
inline constexpr size_t kEnvelopeHeaderBytes = 32;

// What a payload is. Persisted: never renumbered.
enum class ValueKind : uint32_t {
  kSchema = 1,         // row of `meta`
  kProgram = 2,        // EncodeProgram
  kModule = 3,         // SPIR-V
  kFrontEnd = 4,       // stage modules, unused overrides
  kArtifact = 5,       // EncodeArtifact
  kArtifactIndex = 6,  // size of the artifact's payload
  kTuning = 7,         // override values
  kProgramIndex = 8,   // size of the program
  kInterface = 9,      // EncodeInterface
  kShader = 10,        // stage module, warnings
  kSnapshots = 11,     // programs of a recipe
  kSurfaces = 12,      // opaque
  kTarget = 13,        // device name, identity fields
  kRoots = 14,         // opaque
  kFailure = 15,       // key, cause, message
};

// "program", "artifact", ...; "unknown" for a number that is none.
std::string_view KindText(ValueKind kind);

Bytes SealEnvelope(ValueKind kind, std::string_view row, ByteView payload);

// Returns: the payload, a view into `value`.
// Errors: DataLoss naming the first thing that is wrong, when `value` is not
// exactly what SealEnvelope made for this kind and row.
// Lifetime: that of `value`.
absl::StatusOr<ByteView> OpenEnvelope(ValueKind kind, std::string_view row,
                                      ByteView value);

}  // namespace kiln::storage
