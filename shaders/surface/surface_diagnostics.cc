// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_diagnostics.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shaders/surface/outline.h"
#include "shaders/surface/surface_includes.h"
#include "shaders/surface/surface_names.h"
#include "shaders/surface/surface_program.h"
#include "shaders/surface/tokens.h"

namespace kiln::surface {
namespace {

// A line of compiler output: "path:12: error: message".
struct Place {
  std::string_view path;
  uint32_t line = 0;
  std::string_view rest;  // from the ':' behind the line
};

// A line of a surface.
struct Target {
  uint32_t index = 0;
  uint32_t line = 0;
  bool is_call = false;  // the dispatch could not call its function
};

// "path:12: ..." with `path` at the front; nullopt: it is of another form.
std::optional<Place> PlaceIn(std::string_view line, std::string_view path) {
  if (!line.starts_with(path) || line.size() <= path.size() ||
      line[path.size()] != ':') {
    return std::nullopt;
  }
  Place place;
  place.path = path;
  const char* const digits = line.data() + path.size() + 1;
  const char* const end = line.data() + line.size();
  const auto [rest, error] = std::from_chars(digits, end, place.line);
  if (error != std::errc() || rest == end || *rest != ':') {
    return std::nullopt;
  }
  place.rest = line.substr(static_cast<size_t>(rest - line.data()));
  return place;
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != text.npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

class Mapper {
 public:
  Mapper(const SurfaceSet& set, const Program& applied)
      : set_(set),
        slot_(applied.surface),
        generated_paths_(GeneratedPaths(applied)) {
    if (absl::StatusOr<GeneratedFile> file = Generate(slot_, set); file.ok()) {
      generated_ = *std::move(file);
    }
    for (const auto& [index, surface] : set.surfaces()) {
      paths_[index] = SurfacePath(index, surface.name);
    }
  }

  // The surface that a line of output is about; none: it stays as it is.
  std::optional<Target> Find(std::string_view line, Place& place) const {
    for (const auto& [index, path] : paths_) {
      if (const std::optional<Place> found = PlaceIn(line, path)) {
        place = *found;
        return InSurface(index, place);
      }
    }
    for (const std::string& path : generated_paths_) {
      if (const std::optional<Place> found = PlaceIn(line, path)) {
        place = *found;
        return InGenerated(place);
      }
    }
    return ByName(line, place);
  }

  std::string Map(std::string_view line) const {
    Place place;
    const std::optional<Target> target = Find(line, place);
    std::string mapped(line);
    if (target) {
      mapped = fmt::format("{}:{}{}", set_.Find(target->index)->name,
                           target->line, place.rest);
      if (target->is_call) {
        mapped += fmt::format(" (the program calls {}({}))", slot_.function,
                              slot_.parameters);
      }
    }
    for (const auto& [index, path] : paths_) {
      ReplaceAll(mapped, fmt::format("'{}'", path),
                 fmt::format("'{}'", set_.Find(index)->name));
    }
    return RestoreNames(mapped);
  }

 private:
  // The last surface before `index` (0: of all), if its text ends too early.
  std::optional<Target> UnfinishedBefore(uint32_t index) const {
    const auto& surfaces = set_.surfaces();
    auto at = index == 0 ? surfaces.end() : surfaces.find(index);
    while (at != surfaces.begin()) {
      --at;
      const TokenizedText text = Tokenize(at->second.text);
      if (text.tokens.empty()) {
        continue;  // the one before it could still be open
      }
      const Token& last = text.tokens.back();
      const bool is_finished = !text.fault && last.directive == 0 &&
                               (last.Is(';') || last.Is('}')) &&
                               !ReadOutline(text).fault;
      return is_finished
                 ? std::nullopt
                 : std::optional<Target>({at->first, text.LastLine(), false});
    }
    return std::nullopt;
  }

  std::optional<Target> InSurface(uint32_t index, const Place& place) const {
    const TokenizedText text = Tokenize(set_.Find(index)->text);
    const auto first = std::ranges::find(text.tokens, 0u, &Token::directive);
    if (first != text.tokens.end() && first->line == place.line) {
      if (const std::optional<Target> before = UnfinishedBefore(index)) {
        return before;
      }
    }
    return Target{index, place.line, false};
  }

  std::optional<Target> InGenerated(const Place& place) const {
    for (const auto& [index, line] : generated_.call_lines) {
      if (line == place.line) {
        return Target{index, LineOf(*set_.Find(index), slot_.function), true};
      }
    }
    for (const auto& [index, line] : generated_.include_lines) {
      if (line == place.line &&
          place.rest.find("#include") != place.rest.npos) {
        return Target{index, 1, false};
      }
    }
    const auto next = std::ranges::find_if(
        generated_.include_lines,
        [&](const auto& entry) { return entry.second >= place.line; });
    return UnfinishedBefore(
        next == generated_.include_lines.end() ? 0 : next->first);
  }

  // Where the surface defines `name`, outside functions; 1: nowhere.
  static uint32_t LineOf(const Surface& surface, std::string_view name) {
    const TokenizedText text = Tokenize(surface.text);
    uint32_t line = 1;
    for (const Declaration& declaration : ReadOutline(text).declarations) {
      if (declaration.name == name && !declaration.is_dead &&
          declaration.kind != DeclarationKind::kPrototype) {
        line = declaration.line;
      }
    }
    return line;
  }

  // What is found only when all is put together, such as recursion, is told of
  // the whole shader, with the names of functions.
  std::optional<Target> ByName(std::string_view line, Place& place) const {
    const std::optional<OwnedName> owned = FindIsolatedName(line);
    const Surface* const surface = owned ? set_.Find(owned->index) : nullptr;
    if (surface == nullptr) {
      return std::nullopt;
    }
    place.rest = line.substr(std::min(line.find(": "), line.size()));
    return Target{owned->index, LineOf(*surface, owned->name), false};
  }

  const SurfaceSet& set_;
  const SurfaceSlot& slot_;
  std::vector<std::string> generated_paths_;
  GeneratedFile generated_;
  std::map<uint32_t, std::string> paths_;
};

template <typename Visit>
void ForEachLine(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The files that only surfaces include, of those that this one does.
std::set<std::string> BroughtBy(const Program& program,
                                const std::string& surface_path) {
  std::set<std::string> stages;
  for (const StageSource& stage : program.stages) {
    stages.insert(stage.path);
  }
  std::set<std::string> brought = ReachableFiles(program, {surface_path});
  for (const std::string& own : ReachableFiles(program, std::move(stages))) {
    brought.erase(own);
  }
  return brought;
}

}  // namespace

std::string MapDiagnostics(std::string_view compiler_output,
                           const SurfaceSet& set, const Program& applied) {
  const Mapper mapper(set, applied);
  std::string mapped;
  ForEachLine(compiler_output, [&](std::string_view line) {
    mapped += mapper.Map(line);
    mapped += '\n';
  });
  if (!mapped.empty() && !compiler_output.ends_with('\n')) {
    mapped.pop_back();
  }
  return mapped;
}

std::string MapDiagnosticsFor(std::string_view compiler_output,
                              const SurfaceSet& set, const Program& applied,
                              uint32_t index) {
  std::set<std::string> of_others;
  for (const auto& [other, surface] : set.surfaces()) {
    if (other != index) {
      of_others.merge(BroughtBy(applied, SurfacePath(other, surface.name)));
    }
  }
  if (const Surface* const own = set.Find(index)) {
    for (const std::string& file :
         BroughtBy(applied, SurfacePath(index, own->name))) {
      of_others.erase(file);
    }
  }
  const Mapper mapper(set, applied);
  std::string kept;
  ForEachLine(compiler_output, [&](std::string_view line) {
    Place place;
    const std::optional<Target> target = mapper.Find(line, place);
    const bool is_others =
        target ? target->index != index
               : std::ranges::any_of(of_others, [&](const std::string& file) {
                   return PlaceIn(line, file).has_value();
                 });
    if (!is_others) {
      kept += mapper.Map(line);
      kept += '\n';
    }
  });
  return kept;
}

bool ConcernsSurface(std::string_view compiler_output, const SurfaceSet& set,
                     const Program& applied, uint32_t index) {
  const Surface* const surface = set.Find(index);
  if (surface == nullptr) {
    return false;
  }
  const Mapper mapper(set, applied);
  const std::set<std::string> brought =
      BroughtBy(applied, SurfacePath(index, surface->name));
  bool concerns = false;
  ForEachLine(compiler_output, [&](std::string_view line) {
    Place place;
    const std::optional<Target> target = mapper.Find(line, place);
    concerns |= target ? target->index == index
                       : std::ranges::any_of(brought, [&](const auto& file) {
                           return PlaceIn(line, file).has_value();
                         });
  });
  return concerns;
}

}  // namespace kiln::surface
