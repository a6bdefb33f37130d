// SPDX-License-Identifier: Apache-2.0
#include "daemon/explain_call.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "daemon/explain.h"
#include "daemon/key_prefix.h"
#include "daemon/stored_variants.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/wire.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

// What the request is about.
struct Meant {
  StoredVariant variant;
  Digest key_id;
  bool stored = false;
};

// The target asked for; else that of the newest request, else one that has it.
absl::StatusOr<Digest> ChooseTarget(const v1::ExplainRequest& request,
                                    const std::vector<AskedKey>& asked,
                                    const std::vector<StoredVariant>& stored) {
  if (!request.target().empty()) {
    absl::StatusOr<Digest> target = Digest::FromRaw(request.target());
    return target.ok() ? target
                       : absl::InvalidArgumentError(fmt::format(
                             "target has {} bytes, not {}",
                             request.target().size(), Digest::kBytes));
  }
  if (!asked.empty()) {
    return asked.front().target;
  }
  if (!stored.empty()) {
    return std::ranges::min(stored, {}, &StoredVariant::target).target;
  }
  return absl::InvalidArgumentError(
      "target is missing: the key was asked for on none");
}

absl::StatusOr<Meant> Finish(const v1::ExplainRequest& request,
                             const VariantKey& key,
                             const std::vector<AskedKey>& asked,
                             const std::vector<StoredVariant>& stored) {
  Meant meant;
  meant.key_id = KeyId(key);
  meant.variant.key = key;
  KILN_ASSIGN_OR_RETURN(meant.variant.target,
                        ChooseTarget(request, asked, stored));
  meant.stored = std::ranges::any_of(stored, [&](const StoredVariant& variant) {
    return variant.target == meant.variant.target && variant.key == key;
  });
  return meant;
}

absl::StatusOr<Meant> ByPrefix(const ExplainContext& context,
                               StoredVariants& variants,
                               const v1::ExplainRequest& request) {
  KILN_ASSIGN_OR_RETURN(const std::string prefix,
                        ReadKeyPrefix(request.key_id()));
  std::map<Digest, VariantKey> keys;
  for (const AskedKey& asked :
       context.asked.FindPrefix(prefix, kMaxKeyMatches)) {
    keys.emplace(asked.key_id, asked.key);
  }
  KILN_ASSIGN_OR_RETURN(const std::vector<Artifact> found,
                        context.store.FindArtifacts(prefix, kMaxKeyMatches));
  for (const Artifact& artifact : found) {
    keys.emplace(KeyId(artifact.key), artifact.key);
  }
  if (keys.empty()) {
    return absl::NotFoundError(
        fmt::format("key '{}' is not stored and was not asked for since kilnd "
                    "started; `kiln why` also takes a program file and options",
                    prefix));
  }
  if (keys.size() > 1) {
    std::string names;
    for (const auto& [id, key] : keys) {
      names += " " + id.ShortHex();
    }
    return absl::InvalidArgumentError(fmt::format(
        "key_id '{}' fits several keys:{}; give more digits", prefix, names));
  }
  const auto& [key_id, key] = *keys.begin();
  KILN_ASSIGN_OR_RETURN(const std::vector<StoredVariant> stored,
                        variants.WithKey(key_id));
  return Finish(request, key,
                context.asked.FindPrefix(key_id.Hex(), kMaxKeyMatches), stored);
}

// A key by its parts, of a program as it was registered.
absl::StatusOr<Meant> ByParts(const ExplainContext& context,
                              StoredVariants& variants,
                              const v1::ExplainRequest& request) {
  KILN_ASSIGN_OR_RETURN(VariantKey key, wire::KeyFromWire(request.key()));
  KILN_ASSIGN_OR_RETURN(const auto program, context.current(key.program));
  key.program = program->id();
  KILN_ASSIGN_OR_RETURN(key, NormaliseKey(program->program(), std::move(key)));
  const Digest key_id = KeyId(key);
  KILN_ASSIGN_OR_RETURN(const std::vector<StoredVariant> stored,
                        variants.WithKey(key_id));
  return Finish(request, key,
                context.asked.FindPrefix(key_id.Hex(), kMaxKeyMatches), stored);
}

void FillState(const ExplainContext& context, const Meant& meant,
               v1::ExplainResponse* response) {
  const std::optional<AskedKey> asked =
      context.asked.Find(meant.variant.target, meant.key_id);
  if (meant.stored) {
    response->set_state("stored");
  } else if (!asked) {
    response->set_state("never asked for");
  } else if (asked->state == AskedKey::State::kInFlight) {
    response->set_state("in flight");
  } else if (asked->state == AskedKey::State::kFailed) {
    response->set_state("failed");
    response->set_message(asked->message);
  } else {
    response->set_state("missing");
  }
}

// What else is worth saying; empty: nothing.
std::string Remark(const NearestVariant& nearest, const Meant& meant) {
  if (nearest.variant && !meant.stored &&
      nearest.variant->target == meant.variant.target &&
      Serves(nearest.variant->key, meant.variant.key)) {
    return "kilnd leaves out overrides that no code reads; if these are such, "
           "the nearest entry is the answer to a request";
  }
  return nearest.searched_all ? ""
                              : fmt::format("only {} entries were searched",
                                            nearest.entries_searched);
}

void FillNearest(const NearestVariant& nearest, const Meant& meant,
                 v1::ExplainResponse* response) {
  if (nearest.variant) {
    v1::ExplainResponse::Nearest* out = response->mutable_nearest();
    out->set_key_id(std::string(KeyId(nearest.variant->key).raw()));
    out->set_target(std::string(nearest.variant->target.raw()));
    out->set_label(ToValidUtf8(nearest.label));
  }
  for (const Difference& difference : nearest.differences) {
    v1::Difference* out = response->add_differences();
    out->set_kind(difference.kind);
    out->set_name(difference.name);
    out->set_stored(difference.stored);
    out->set_asked(difference.asked);
  }
  response->set_entries_searched(nearest.entries_searched);
  if (response->message().empty()) {
    response->set_message(Remark(nearest, meant));
  }
}

}  // namespace

absl::Status AnswerExplain(const ExplainContext& context,
                           const v1::ExplainRequest& request,
                           v1::ExplainResponse* response) {
  StoredVariants variants(context.store, context.registry);
  KILN_ASSIGN_OR_RETURN(const Meant meant,
                        request.has_key()
                            ? ByParts(context, variants, request)
                            : ByPrefix(context, variants, request));
  const Digest& program_id = meant.variant.key.program;
  KILN_ASSIGN_OR_RETURN(const std::optional<Program> program,
                        variants.FindProgram(program_id));
  if (!program) {
    return absl::NotFoundError(
        fmt::format("program {} of key {} is not stored any more",
                    program_id.ShortHex(), meant.key_id.ShortHex()));
  }
  KILN_ASSIGN_OR_RETURN(const NearestVariant nearest,
                        FindNearest(variants, *program, meant.variant));
  response->set_label(ToValidUtf8(KeyLabel(*program, meant.variant.key)));
  response->set_key_id(std::string(meant.key_id.raw()));
  response->set_target(std::string(meant.variant.target.raw()));
  FillState(context, meant, response);
  FillNearest(nearest, meant, response);
  return absl::OkStatus();
}

}  // namespace kiln::daemon
