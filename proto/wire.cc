// SPDX-License-Identifier: Apache-2.0
#include "proto/wire.h"

#include <fmt/format.h>
#include <grpcpp/support/status.h>

#include "kiln/v1/kiln.pb.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::wire {
namespace {

// The two enumerations are numbered alike; these pin it.
constexpr bool Same(absl::StatusCode a, grpc::StatusCode b) {
  return static_cast<int>(a) == static_cast<int>(b);
}

static_assert(Same(absl::StatusCode::kOk, grpc::OK));
static_assert(Same(absl::StatusCode::kCancelled, grpc::CANCELLED));
static_assert(Same(absl::StatusCode::kUnknown, grpc::UNKNOWN));
static_assert(Same(absl::StatusCode::kInvalidArgument, grpc::INVALID_ARGUMENT));
static_assert(Same(absl::StatusCode::kDeadlineExceeded,
                   grpc::DEADLINE_EXCEEDED));
static_assert(Same(absl::StatusCode::kNotFound, grpc::NOT_FOUND));
static_assert(Same(absl::StatusCode::kAlreadyExists, grpc::ALREADY_EXISTS));
static_assert(Same(absl::StatusCode::kPermissionDenied,
                   grpc::PERMISSION_DENIED));
static_assert(Same(absl::StatusCode::kResourceExhausted,
                   grpc::RESOURCE_EXHAUSTED));
static_assert(Same(absl::StatusCode::kFailedPrecondition,
                   grpc::FAILED_PRECONDITION));
static_assert(Same(absl::StatusCode::kAborted, grpc::ABORTED));
static_assert(Same(absl::StatusCode::kOutOfRange, grpc::OUT_OF_RANGE));
static_assert(Same(absl::StatusCode::kUnimplemented, grpc::UNIMPLEMENTED));
static_assert(Same(absl::StatusCode::kInternal, grpc::INTERNAL));
static_assert(Same(absl::StatusCode::kUnavailable, grpc::UNAVAILABLE));
static_assert(Same(absl::StatusCode::kDataLoss, grpc::DATA_LOSS));
static_assert(Same(absl::StatusCode::kUnauthenticated, grpc::UNAUTHENTICATED));

static_assert(static_cast<int>(v1::PROOF_PROVEN) ==
              static_cast<int>(Proof::kProven));
static_assert(static_cast<int>(v1::PROOF_NOT_PROVABLE) ==
              static_cast<int>(Proof::kNotProvable));
static_assert(static_cast<int>(v1::PROOF_REFUSED) ==
              static_cast<int>(Proof::kRefused));

// Ours count from 0 in the same order, where the wire has "unspecified".
static_assert(v1::URGENCY_ON_SCREEN ==
              static_cast<int>(Urgency::kOnScreen) + 1);
static_assert(v1::URGENCY_WARM_UP == static_cast<int>(Urgency::kWarmUp) + 1);
static_assert(v1::URGENCY_SPECULATIVE ==
              static_cast<int>(Urgency::kSpeculative) + 1);
static_assert(v1::ACTIVITY_PLAYING == static_cast<int>(Activity::kPlaying) + 1);
static_assert(v1::ACTIVITY_LOADING == static_cast<int>(Activity::kLoading) + 1);
static_assert(v1::ACTIVITY_IDLE == static_cast<int>(Activity::kIdle) + 1);

template <typename Message>
void OverridesToWire(const std::vector<OverrideValue>& overrides,
                     Message* message) {
  for (const OverrideValue& entry : overrides) {
    v1::OverrideValue* out = message->add_overrides();
    out->set_name(ToValidUtf8(entry.name));
    out->set_value(entry.value);
  }
}

template <typename Message>
std::vector<OverrideValue> OverridesFromWire(const Message& message) {
  std::vector<OverrideValue> overrides;
  for (const v1::OverrideValue& entry : message.overrides()) {
    overrides.push_back({entry.name(), entry.value()});
  }
  return overrides;
}

// The fields that a request and a stored variant name alike.
template <typename Message>
absl::StatusOr<VariantKey> ReadKey(const Message& message) {
  VariantKey key;
  KILN_ASSIGN_OR_RETURN(key.program,
                        DigestFromWire("program_id", message.program_id()));
  key.kind = message.kind();
  key.backdrop = message.backdrop();
  key.blend = message.blend();
  key.features = message.features();
  if (message.overrides_size() > static_cast<int>(limits::kOverrides)) {
    return absl::InvalidArgumentError(
        fmt::format("overrides has over {} entries", limits::kOverrides));
  }
  key.overrides = OverridesFromWire(message);
  return key;
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  const absl::string_view text = status.message();
  return {static_cast<grpc::StatusCode>(status.code()),
          Shorten({text.data(), text.size()}, limits::kStatusTextBytes)};
}

absl::Status FromGrpc(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()),
          ToValidUtf8(status.error_message())};
}

absl::StatusOr<Digest> DigestFromWire(std::string_view field,
                                      std::string_view raw) {
  absl::StatusOr<Digest> digest = Digest::FromRaw(raw);
  if (!digest.ok()) {
    return absl::InvalidArgumentError(fmt::format(
        "{} has {} bytes, not {}", field, raw.size(), Digest::kBytes));
  }
  return digest;
}

absl::StatusOr<VariantKey> KeyFromWire(const v1::VariantRequest& request) {
  return ReadKey(request);
}

absl::StatusOr<VariantKey> KeyFromWire(const v1::Variant& variant) {
  return ReadKey(variant);
}

void KeyToWire(const VariantKey& key, v1::VariantRequest* request) {
  request->set_program_id(std::string(key.program.raw()));
  request->set_kind(ToValidUtf8(key.kind));
  request->set_backdrop(ToValidUtf8(key.backdrop));
  request->set_blend(ToValidUtf8(key.blend));
  request->set_features(key.features);
  OverridesToWire(key.overrides, request);
}

void VariantToWire(const Artifact& artifact, std::string_view label,
                   uint64_t blob_bytes, v1::Variant* variant) {
  const VariantKey& key = artifact.key;
  variant->set_key_id(std::string(KeyId(key).raw()));
  variant->set_target(std::string(artifact.target.raw()));
  variant->set_program_id(std::string(key.program.raw()));
  variant->set_label(ToValidUtf8(label));
  variant->set_kind(ToValidUtf8(key.kind));
  variant->set_backdrop(ToValidUtf8(key.backdrop));
  variant->set_blend(ToValidUtf8(key.blend));
  variant->set_features(key.features);
  OverridesToWire(key.overrides, variant);
  for (v1::OverrideValue& entry : *variant->mutable_overrides()) {
    for (const Constant& constant : artifact.constants) {
      if (constant.name == entry.name()) {
        entry.set_type(static_cast<uint32_t>(constant.type));
      }
    }
  }
  variant->set_compile_us(artifact.compile_us);
  variant->set_blob_bytes(blob_bytes);
  variant->set_proof(static_cast<v1::Proof>(artifact.proof));
  auto set = [variant](const std::optional<uint32_t>& value,
                       void (v1::Variant::*setter)(uint32_t)) {
    if (value) {
      (variant->*setter)(*value);
    }
  };
  set(artifact.cost.registers, &v1::Variant::set_registers);
  set(artifact.cost.waves, &v1::Variant::set_waves);
  set(artifact.cost.instructions, &v1::Variant::set_instructions);
  set(artifact.cost.spills, &v1::Variant::set_spills);
  set(artifact.cost.code_bytes, &v1::Variant::set_code_bytes);
}

Urgency UrgencyFromWire(int urgency) {
  if (urgency == v1::URGENCY_UNSPECIFIED) {
    return Urgency::kOnScreen;
  }
  return v1::Urgency_IsValid(urgency) ? static_cast<Urgency>(urgency - 1)
                                      : Urgency::kSpeculative;
}

v1::Urgency UrgencyToWire(Urgency urgency) {
  return static_cast<v1::Urgency>(static_cast<int>(urgency) + 1);
}

Activity ActivityFromWire(int activity) {
  return v1::Activity_IsValid(activity) && activity != v1::ACTIVITY_UNSPECIFIED
             ? static_cast<Activity>(activity - 1)
             : Activity::kPlaying;
}

v1::Activity ActivityToWire(Activity activity) {
  return static_cast<v1::Activity>(static_cast<int>(activity) + 1);
}

Tuning TuningFromWire(const v1::Tuning& message) {
  return {OverridesFromWire(message), message.median_ns(),
          message.candidates()};
}

void TuningToWire(const Tuning& tuning, v1::Tuning* message) {
  OverridesToWire(tuning.overrides, message);
  message->set_median_ns(tuning.median_ns);
  message->set_candidates(tuning.candidates);
}

void TargetToWire(std::string_view spec, const TargetIdentity& identity,
                  v1::Target* target) {
  target->set_spec(ToValidUtf8(spec));
  target->set_digest(std::string(identity.Id().raw()));
  target->set_device_name(ToValidUtf8(identity.device_name));
  for (const IdentityField& field : identity.fields) {
    v1::IdentityField* out = target->add_fields();
    out->set_name(ToValidUtf8(field.name));
    out->set_value(ToValidUtf8(field.value));
  }
}

}  // namespace kiln::wire
