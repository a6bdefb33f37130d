// SPDX-License-Identifier: Apache-2.0
#include "daemon/failures_call.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "daemon/key_prefix.h"
#include "daemon/program_registry.h"
#include "daemon/scheduler.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "storage/variant_store.h"

namespace kiln::daemon {
namespace {

constexpr size_t kFailuresPerPage = 16;  // each with 64 KiB of diagnostics

void FillFailedVariant(ServiceContext& context,
                       const storage::FailureRecord& failure,
                       v1::FailedVariant* out) {
  out->set_key_id(std::string(KeyId(failure.key).raw()));
  out->set_target(std::string(failure.target.raw()));
  out->set_program_id(std::string(failure.key.program.raw()));
  if (const auto program = context.registry.Find(failure.key.program);
      program.ok()) {
    out->set_label(ToValidUtf8(KeyLabel((*program)->program(), failure.key)));
  }
  if (const auto target = context.store.GetTarget(failure.target);
      target.ok() && target->has_value()) {
    out->set_device_name(ToValidUtf8((*target)->device_name));
  }
  out->set_crashed(failure.cause == storage::FailureCause::kCrashed);
  out->set_code(static_cast<uint32_t>(failure.code));
  out->set_message(ToValidUtf8(failure.message));
  out->set_diagnostics(CapDiagnostics(failure.diagnostics));
  out->set_unix_ms(failure.unix_ms);
}

}  // namespace

absl::Status AnswerListFailures(ServiceContext& context,
                                const v1::ListFailuresRequest& request,
                                v1::ListFailuresResponse* response) {
  KILN_ASSIGN_OR_RETURN(
      storage::FailurePage page,
      context.store.ListFailures(request.page_token(), kFailuresPerPage));
  for (const storage::FailureRecord& failure : page.failures) {
    FillFailedVariant(context, failure, response->add_failures());
  }
  response->set_next_page_token(std::move(page.next_row));
  return absl::OkStatus();
}

absl::Status AnswerLiftFailures(ServiceContext& context,
                                const v1::LiftFailuresRequest& request,
                                v1::LiftFailuresResponse* response) {
  std::string prefix;  // fits every key
  if (!request.all()) {
    KILN_ASSIGN_OR_RETURN(prefix, ReadKeyPrefix(request.key_id()));
  }
  std::string row;
  do {
    KILN_ASSIGN_OR_RETURN(storage::FailurePage page,
                          context.store.ListFailures(row, kFailuresPerPage));
    for (const storage::FailureRecord& failure : page.failures) {
      const Digest key_id = KeyId(failure.key);
      if (!key_id.Hex().starts_with(prefix)) {
        continue;
      }
      KILN_RETURN_IF_ERROR(
          context.scheduler.LiftFailure(failure.target, failure.key));
      response->set_lifted(response->lifted() + 1);
      spdlog::info("failure lifted key={} target={}", key_id.ShortHex(),
                   failure.target.ShortHex());
    }
    row = std::move(page.next_row);
  } while (!row.empty());
  if (response->lifted() == 0 && !request.all()) {
    return absl::NotFoundError(
        fmt::format("no key that failed starts with '{}'", prefix));
  }
  return absl::OkStatus();
}

}  // namespace kiln::daemon
