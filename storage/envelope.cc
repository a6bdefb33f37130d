// SPDX-License-Identifier: Apache-2.0
#include "storage/envelope.h"

#include <xxhash.h>

#include <memory>

#include <fmt/format.h>

#include "proto/canonical.h"

namespace kiln::storage {
namespace {

constexpr size_t kCheckedHeaderBytes = 16;
static_assert(kEnvelopeHeaderBytes ==
              kCheckedHeaderBytes + sizeof(XXH128_hash_t));

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

XXH128_hash_t Checksum(ByteView header, std::string_view row,
                       ByteView payload) {
  std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
  XXH3_128bits_reset(state.get());
  XXH3_128bits_update(state.get(), header.data(), header.size());
  XXH3_128bits_update(state.get(), row.data(), row.size());
  XXH3_128bits_update(state.get(), payload.data(), payload.size());
  return XXH3_128bits_digest(state.get());
}

}  // namespace

std::string_view KindText(ValueKind kind) {
  switch (kind) {
    case ValueKind::kSchema:
      return "schema";
    case ValueKind::kProgram:
      return "program";
    case ValueKind::kModule:
      return "module";
    case ValueKind::kFrontEnd:
      return "front end";
    case ValueKind::kArtifact:
      return "artifact";
    case ValueKind::kArtifactIndex:
      return "artifact index";
    case ValueKind::kTuning:
      return "tuning";
    case ValueKind::kProgramIndex:
      return "program index";
    case ValueKind::kInterface:
      return "interface";
    case ValueKind::kShader:
      return "shader";
    case ValueKind::kSnapshots:
      return "snapshots";
    case ValueKind::kSurfaces:
      return "surfaces";
    case ValueKind::kTarget:
      return "target";
    case ValueKind::kRoots:
      return "roots";
    case ValueKind::kFailure:
      return "failure";
  }
  return "unknown";
}

Bytes SealEnvelope(ValueKind kind, std::string_view row, ByteView payload) {
  CanonicalWriter out;
  out.U32(kEnvelopeMagic);
  out.U32(static_cast<uint32_t>(kind));
  out.U64(payload.size());
  const XXH128_hash_t checksum = Checksum(out.bytes(), row, payload);
  out.U64(checksum.low64);
  out.U64(checksum.high64);
  Bytes value = std::move(out).Take();
  value.insert(value.end(), payload.begin(), payload.end());
  return value;
}

absl::StatusOr<ByteView> OpenEnvelope(ValueKind kind, std::string_view row,
                                      ByteView value) {
  if (value.size() < kEnvelopeHeaderBytes) {
    return absl::DataLossError(
        fmt::format("envelope has {} bytes, less than its header's {}",
                    value.size(), kEnvelopeHeaderBytes));
  }
  const ByteView payload = value.subspan(kEnvelopeHeaderBytes);
  CanonicalReader in(value.first(kEnvelopeHeaderBytes));
  if (const uint32_t magic = in.U32(); magic != kEnvelopeMagic) {
    return absl::DataLossError(fmt::format(
        "envelope magic is {:#010x}, not {:#010x}", magic, kEnvelopeMagic));
  }
  if (const uint32_t found = in.U32(); found != static_cast<uint32_t>(kind)) {
    return absl::DataLossError(
        fmt::format("envelope holds kind {}, not {} ({})", found,
                    static_cast<uint32_t>(kind), KindText(kind)));
  }
  if (const uint64_t length = in.U64(); length != payload.size()) {
    return absl::DataLossError(fmt::format(
        "envelope says {} payload bytes and has {}", length, payload.size()));
  }
  const XXH128_hash_t checksum =
      Checksum(value.first(kCheckedHeaderBytes), row, payload);
  if (in.U64() != checksum.low64 || in.U64() != checksum.high64) {
    return absl::DataLossError("checksum mismatch");
  }
  return payload;
}

}  // namespace kiln::storage
