// SPDX-License-Identifier: Apache-2.0
#include "daemon/surface_call.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>

#include "daemon/surface_registrar.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/wire.h"

namespace kiln::daemon {
namespace {

void ToWire(const SurfaceVerdict& verdict,
            v1::RegisterSurfaceResponse* response) {
  response->set_accepted(verdict.accepted);
  response->set_index(verdict.index);
  response->set_set_hash(std::string(verdict.set_hash.raw()));
  response->set_already_known(verdict.already_known);
  response->set_message(Shorten(verdict.message, limits::kStatusTextBytes));
  response->set_diagnostics(CapDiagnostics(verdict.diagnostics));
}

struct Registration {
  Digest program;
  TargetSpec target;
};

absl::Status CheckNotSealed(const ServiceContext& context) {
  return context.sealed
             ? absl::FailedPreconditionError(
                   "sealed: this kilnd compiles nothing, so its surfaces stay "
                   "as they are")
             : absl::OkStatus();
}

absl::StatusOr<Registration> Read(const ServiceContext& context,
                                  const v1::RegisterSurfaceRequest& request) {
  if (request.name().size() > limits::kNameBytes) {
    return absl::InvalidArgumentError(
        fmt::format("name is over {} bytes", limits::kNameBytes));
  }
  KILN_RETURN_IF_ERROR(CheckNotSealed(context));
  Registration read;
  KILN_ASSIGN_OR_RETURN(
      read.program, wire::DigestFromWire("program_id", request.program_id()));
  KILN_ASSIGN_OR_RETURN(read.target, TargetSpec::Parse(request.target()));
  return read;
}

}  // namespace

void AnswerRegisterSurface(ServiceContext& context,
                           const v1::RegisterSurfaceRequest& request,
                           v1::RegisterSurfaceResponse* response,
                           grpc::ServerUnaryReactor* reactor) {
  const absl::StatusOr<Registration> read = Read(context, request);
  if (!read.ok()) {
    reactor->Finish(wire::ToGrpc(read.status()));
    return;
  }
  auto on_verdict = [response,
                     reactor](const absl::StatusOr<SurfaceVerdict>& verdict) {
    if (verdict.ok()) {
      ToWire(*verdict, response);
    }
    reactor->Finish(wire::ToGrpc(verdict.status()));
  };
  auto on_open = [&context, &request, on_verdict, program = read->program](
                     const absl::StatusOr<OpenTargetPtr>& target) {
    if (!target.ok()) {
      on_verdict(target.status());
      return;
    }
    // The io thread does no disk.
    boost::asio::post(context.store_thread, [&context, &request, on_verdict,
                                             program, target = *target] {
      context.surfaces.Register(target, program, ToValidUtf8(request.name()),
                                request.source(), on_verdict);
    });
  };
  boost::asio::post(context.io, [&context, spec = read->target, on_open] {
    context.pool.Open(spec, on_open);
  });
}

absl::Status AnswerRemoveSurface(ServiceContext& context,
                                 const v1::RemoveSurfaceRequest& request,
                                 v1::RemoveSurfaceResponse* response) {
  KILN_RETURN_IF_ERROR(CheckNotSealed(context));
  KILN_ASSIGN_OR_RETURN(
      const Digest program,
      wire::DigestFromWire("program_id", request.program_id()));
  KILN_ASSIGN_OR_RETURN(const Digest hash,
                        context.surfaces.Remove(program, request.index()));
  response->set_set_hash(std::string(hash.raw()));
  return absl::OkStatus();
}

absl::Status AnswerListSurfaces(ServiceContext& context,
                                const v1::ListSurfacesRequest& request,
                                v1::ListSurfacesResponse* response) {
  KILN_ASSIGN_OR_RETURN(
      const Digest program,
      wire::DigestFromWire("program_id", request.program_id()));
  KILN_ASSIGN_OR_RETURN(const surface::SurfaceSet surfaces,
                        context.live_programs.Surfaces(program));
  for (const auto& [index, surface] : surfaces.surfaces()) {
    v1::ListSurfacesResponse::Surface* out = response->add_surfaces();
    out->set_index(index);
    out->set_name(ToValidUtf8(surface.name));
    out->set_digest(std::string(Digest::Of(AsBytes(surface.text)).raw()));
    out->set_bytes(surface.text.size());
  }
  response->set_set_hash(std::string(surfaces.Hash().raw()));
  return absl::OkStatus();
}

}  // namespace kiln::daemon
