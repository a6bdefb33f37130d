// SPDX-License-Identifier: Apache-2.0
#include "daemon/tuning_call.h"

#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "daemon/program_registry.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/artifact.h"
#include "proto/status_macros.h"
#include "proto/variant_key.h"
#include "proto/wire.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
absl::Status RememberTuning(ServiceContext& context,
                            const v1::PutTuningRequest& request) {
  KILN_ASSIGN_OR_RETURN(const Digest target,
                        wire::DigestFromWire("target", request.target()));
  KILN_ASSIGN_OR_RETURN(
      const Digest id,
      wire::DigestFromWire("program_id", request.program_id()));
  KILN_ASSIGN_OR_RETURN(const auto program, context.registry.Find(id));
  const Program& schema = program->program();
  // A tuning is a request that leaves everything but the overrides open.
  VariantKey key;
  key.program = id;
  key.kind = schema.kinds.front().value.name;
  Tuning tuning = wire::TuningFromWire(request.tuning());
  key.overrides = std::move(tuning.overrides);
  KILN_ASSIGN_OR_RETURN(key, NormaliseKey(schema, std::move(key)));
  tuning.overrides = std::move(key.overrides);
  KILN_RETURN_IF_ERROR(context.store.PutTuning(target, id, tuning));
  spdlog::info("tuning program={} target={} median_ns={}", schema.name,
               target.ShortHex(), tuning.median_ns);
  return absl::OkStatus();
}

absl::Status FindTuning(ServiceContext& context,
                        const v1::GetTuningRequest& request,
                        v1::GetTuningResponse* response) {
  KILN_ASSIGN_OR_RETURN(const Digest target,
                        wire::DigestFromWire("target", request.target()));
  KILN_ASSIGN_OR_RETURN(
      const Digest id,
      wire::DigestFromWire("program_id", request.program_id()));
  KILN_ASSIGN_OR_RETURN(const std::optional<Tuning> tuning,
                        context.store.GetTuning(target, id));
  if (!tuning) {
    return absl::NotFoundError(
        fmt::format("program {} was not tuned for target {}", id.ShortHex(),
                    target.ShortHex()));
  }
  wire::TuningToWire(*tuning, response->mutable_tuning());
  return absl::OkStatus();
}

}  // namespace kiln::daemon
