// SPDX-License-Identifier: Apache-2.0
#include "daemon/surface_registrar.h"

#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/surface/surface_diagnostics.h"
#include "shaders/surface/surface_includes.h"
#include "shaders/surface/surface_rules.h"

namespace kiln::daemon {
namespace {

// Past this many all are forgotten, which costs compiles that fail again.
constexpr size_t kMaxRejections = 4096;

std::string MessageOf(const absl::Status& status) {
  return ToValidUtf8({status.message().data(), status.message().size()});
}

// What a rejection is remembered by: the program with all its files as they are
// now, the author's name for the surface, which the diagnostics carry, and the
// text.
Digest RejectionId(const Program& whole, std::string_view name,
                   std::string_view source) {
  CanonicalWriter out;
  out.Id(Digest::Of(EncodeProgram(whole)));
  out.Text(name);
  out.Text(source);
  return Digest::Of(out.bytes());
}

}  // namespace

void SurfaceRegistrar::Register(const OpenTargetPtr& target,
                                const Digest& program, std::string name,
                                std::string source, OnVerdict on_verdict) {
  auto attempt = std::make_shared<Attempt>();
  attempt->target = target;
  attempt->program = program;
  attempt->name = std::move(name);
  attempt->source = std::move(source);
  attempt->on_verdict = std::move(on_verdict);
  Try(attempt);
}

void SurfaceRegistrar::Try(const AttemptPtr& attempt) {
  const auto verdict = Judge(*attempt);
  if (!verdict.ok()) {
    attempt->on_verdict(verdict.status());
    return;
  }
  if (verdict->has_value()) {
    attempt->on_verdict(**verdict);
    return;
  }
  // Known to nobody: a text that is rejected leaves nothing behind.
  Program snapshot = attempt->whole;
  snapshot.surface = {};
  Bytes bytes = EncodeProgram(snapshot);
  const Digest id = Digest::Of(bytes);
  scheduler_.RequestFrontEnd(attempt->target,
                             std::make_shared<RegisteredProgram>(
                                 id, std::move(snapshot), std::move(bytes)),
                             Asker{}, [this, attempt](const Answer& answer) {
                               Compiled(attempt, answer);
                             });
}

absl::StatusOr<std::optional<SurfaceVerdict>> SurfaceRegistrar::Judge(
    Attempt& attempt) {
  KILN_ASSIGN_OR_RETURN(attempt.surfaces, programs_.Surfaces(attempt.program));
  attempt.expected = attempt.surfaces.Hash();
  if (const auto index = attempt.surfaces.IndexOf(attempt.source)) {
    return SurfaceVerdict{true, *index, attempt.expected, true, "", ""};
  }
  KILN_ASSIGN_OR_RETURN(const Program base,
                        programs_.WithoutSurfaces(attempt.program));
  attempt.rejection = RejectionId(base, attempt.name, attempt.source);
  if (auto remembered = Remembered(attempt.rejection)) {
    return remembered;
  }
  if (absl::Status status = surface::CheckSurface(
          base.surface, attempt.source, attempt.name, surface::ContextOf(base));
      !status.ok()) {
    return Reject(attempt, status, "");
  }
  return Compose(attempt, base);
}

// Puts the text, whose rules hold, into the program.
absl::StatusOr<std::optional<SurfaceVerdict>> SurfaceRegistrar::Compose(
    Attempt& attempt, const Program& base) {
  KILN_ASSIGN_OR_RETURN(attempt.index,
                        attempt.surfaces.Add(attempt.name, attempt.source));
  KILN_ASSIGN_OR_RETURN(
      attempt.whole, programs_.WithSurfaces(attempt.program, attempt.surfaces));
  attempt.whole.surface = base.surface;
  // From here on a verdict is about these very files: one that the surface
  // includes may be mended. Other surfaces have no part in it.
  surface::SurfaceSet alone;
  KILN_RETURN_IF_ERROR(alone.Add(attempt.name, attempt.source).status());
  KILN_ASSIGN_OR_RETURN(const Program by_itself,
                        programs_.WithSurfaces(attempt.program, alone));
  attempt.rejection = RejectionId(by_itself, attempt.name, attempt.source);
  if (auto remembered = Remembered(attempt.rejection)) {
    return remembered;
  }
  if (absl::Status status = surface::CheckIncludes(
          attempt.whole, attempt.surfaces, attempt.index);
      !status.ok()) {
    return Reject(attempt, status, "");
  }
  return std::optional<SurfaceVerdict>();
}

std::optional<SurfaceVerdict> SurfaceRegistrar::Remembered(
    const Digest& rejection) {
  absl::MutexLock lock(&mutex_);
  auto found = rejections_.find(rejection);
  if (found == rejections_.end()) {
    return std::nullopt;
  }
  SurfaceVerdict verdict = found->second;
  verdict.already_known = true;
  return verdict;
}

SurfaceVerdict SurfaceRegistrar::Reject(const Attempt& attempt,
                                        const absl::Status& why,
                                        std::string diagnostics) {
  counters_.Add(Counter::kSurfacesRejected);
  SurfaceVerdict verdict;
  verdict.set_hash = attempt.expected;
  verdict.message = MessageOf(why);
  verdict.diagnostics = std::move(diagnostics);
  spdlog::info("surface rejected program={} name=\"{}\" error=\"{}\"",
               attempt.program.ShortHex(), ToValidUtf8(attempt.name),
               Shorten(verdict.message, 300));
  absl::MutexLock lock(&mutex_);
  if (rejections_.size() >= kMaxRejections) {
    rejections_.clear();
  }
  rejections_.insert_or_assign(attempt.rejection, verdict);
  return verdict;
}

void SurfaceRegistrar::Compiled(const AttemptPtr& attempt,
                                const Answer& answer) {
  if (answer.status.ok()) {
    Adopt(attempt);
    return;
  }
  const std::string output =
      answer.diagnostics == nullptr ? "" : *answer.diagnostics;
  if (!surface::ConcernsSurface(output, attempt->surfaces, attempt->whole,
                                attempt->index)) {
    // The program is broken, or the worker was lost: no verdict on the surface.
    attempt->on_verdict(absl::FailedPreconditionError(
        fmt::format("the program does not compile: {}; {}",
                    MessageOf(answer.status), Shorten(output, 500))));
    return;
  }
  attempt->on_verdict(
      Reject(*attempt,
             absl::InvalidArgumentError(
                 fmt::format("surface {} does not compile", attempt->name)),
             surface::MapDiagnosticsFor(output, attempt->surfaces,
                                        attempt->whole, attempt->index)));
}

void SurfaceRegistrar::Adopt(const AttemptPtr& attempt) {
  const Digest hash = attempt->surfaces.Hash();
  const absl::StatusOr<bool> adopted = programs_.SetSurfaces(
      attempt->program, attempt->expected, attempt->surfaces);
  if (!adopted.ok()) {
    attempt->on_verdict(adopted.status());
    return;
  }
  if (!*adopted) {  // another surface was faster: with that one again
    Try(attempt);
    return;
  }
  counters_.Add(Counter::kSurfacesAccepted);
  spdlog::info("surface accepted program={} name=\"{}\" index={}",
               attempt->program.ShortHex(), ToValidUtf8(attempt->name),
               attempt->index);
  attempt->on_verdict(
      SurfaceVerdict{true, attempt->index, hash, false, "", ""});
  reloader_.Refresh();
}

absl::StatusOr<Digest> SurfaceRegistrar::Remove(const Digest& program,
                                                uint32_t index) {
  while (true) {
    KILN_ASSIGN_OR_RETURN(surface::SurfaceSet surfaces,
                          programs_.Surfaces(program));
    const Digest expected = surfaces.Hash();
    KILN_RETURN_IF_ERROR(surfaces.Remove(index));
    const Digest hash = surfaces.Hash();
    KILN_ASSIGN_OR_RETURN(
        const bool removed,
        programs_.SetSurfaces(program, expected, std::move(surfaces)));
    if (removed) {
      reloader_.Refresh();
      return hash;
    }
  }
}

}  // namespace kiln::daemon
