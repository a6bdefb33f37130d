// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_includes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/sources/include_paths.h"
#include "shaders/surface/surface_program.h"
#include "shaders/surface/surface_rules.h"

namespace kiln::surface {
namespace {

std::vector<std::string> IncludedBy(const Program& program,
                                    const std::string& from) {
  std::vector<std::string> paths;
  const auto edges =
      std::ranges::equal_range(program.includes, from, {}, &IncludeEdge::from);
  for (const IncludeEdge& edge : edges) {
    if (!edge.path.empty()) {
      paths.push_back(edge.path);
    }
  }
  const SourceFile* const file = program.FindFile(from);
  if (!program.includes.empty() || file == nullptr) {
    return paths;
  }
  for (const SurfaceInclude& include : IncludesOf(file->text)) {
    const auto candidates = sources::ProgramCandidates(
        from, include.name,
        include.angled ? sources::IncludeForm::kAngled
                       : sources::IncludeForm::kQuoted);
    if (!candidates.ok()) {
      continue;
    }
    const auto found =
        std::ranges::find_if(*candidates, [&](const std::string& path) {
          return program.FindFile(path) != nullptr;
        });
    if (found != candidates->end()) {
      paths.push_back(*found);
    }
  }
  return paths;
}

// Checks what the files `own`, those of surfaces, can include.
absl::Status CheckFilesOf(const Program& applied, std::set<std::string> own,
                          const SurfaceContext& context) {
  for (const std::string& path : ReachableFiles(applied, own)) {
    const SourceFile* const file = applied.FindFile(path);
    if (file != nullptr && !own.contains(path)) {
      KILN_RETURN_IF_ERROR(CheckIncluded(file->text, path, context));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::set<std::string> ReachableFiles(const Program& applied,
                                     std::set<std::string> files) {
  const std::vector<std::string> generated = GeneratedPaths(applied);
  std::vector<std::string> pending(files.begin(), files.end());
  while (!pending.empty()) {
    const std::string from = std::move(pending.back());
    pending.pop_back();
    for (std::string& path : IncludedBy(applied, from)) {
      if (std::ranges::find(generated, path) == generated.end() &&
          files.insert(path).second) {
        pending.push_back(std::move(path));
      }
    }
  }
  return files;
}

absl::Status CheckIncludes(const Program& applied, const SurfaceSet& set,
                           uint32_t index) {
  const Surface* const surface = set.Find(index);
  if (surface == nullptr) {
    return absl::NotFoundError(fmt::format("no surface shader {}", index));
  }
  const SurfaceContext context = ContextOf(applied);
  KILN_RETURN_IF_ERROR(
      CheckFilesOf(applied, {SurfacePath(index, surface->name)}, context));
  return CheckSurface(applied.surface, surface->text, surface->name, context);
}

absl::Status CheckAllIncludes(const Program& applied, const SurfaceSet& set) {
  if (set.empty()) {
    return absl::OkStatus();
  }
  const SurfaceContext context = ContextOf(applied);
  std::set<std::string> own;
  for (const auto& [index, surface] : set.surfaces()) {
    own.insert(SurfacePath(index, surface.name));
  }
  KILN_RETURN_IF_ERROR(CheckFilesOf(applied, std::move(own), context));
  for (const auto& [index, surface] : set.surfaces()) {
    KILN_RETURN_IF_ERROR(
        CheckSurface(applied.surface, surface.text, surface.name, context));
  }
  return absl::OkStatus();
}

}  // namespace kiln::surface
