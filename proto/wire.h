// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only mapping between wire messages and the contract's types, and between
// absl and gRPC statuses. Everything that goes out is made valid UTF-8 here.

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/artifact.h"
#include "proto/target.h"
#include "proto/urgency.h"
#include "proto/variant_key.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace kiln::v1 {
class Completion;
class Target;
class Tuning;
class Variant;
class VariantRequest;
enum Activity : int;
enum Urgency : int;
}  // namespace kiln::v1

namespace kiln::wire {

// Text is shortened to limits::kStatusTextBytes.
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

// A digest of the field named. Errors: InvalidArgument naming it.
absl::StatusOr<Digest> DigestFromWire(std::string_view field,
                                      std::string_view raw);

// Errors: InvalidArgument when the program id is not a digest.
absl::StatusOr<VariantKey> KeyFromWire(const v1::VariantRequest& request);
// The key a variant is stored under. Errors: as above.
absl::StatusOr<VariantKey> KeyFromWire(const v1::Variant& variant);
void KeyToWire(const VariantKey& key, v1::VariantRequest* request);

// `label` is KeyLabel's. The artifact's blob may have been left out when
// `blob_bytes` is given.
void VariantToWire(const Artifact& artifact, std::string_view label,
                   uint64_t blob_bytes, v1::Variant* variant);

// An unknown urgency of a newer contract is the least urgent that this one
// knows; an unknown activity is playing.
Urgency UrgencyFromWire(int urgency);
v1::Urgency UrgencyToWire(Urgency urgency);
Activity ActivityFromWire(int activity);
v1::Activity ActivityToWire(Activity activity);

// Neither checks that a program has the overrides named.
Tuning TuningFromWire(const v1::Tuning& message);
void TuningToWire(const Tuning& tuning, v1::Tuning* message);

void TargetToWire(std::string_view spec, const TargetIdentity& identity,
                  v1::Target* target);

}  // namespace kiln::wire
