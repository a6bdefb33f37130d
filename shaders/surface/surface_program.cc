// SPDX-License-Identifier: Apache-2.0
#include "shaders/surface/surface_program.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/surface/surface_names.h"
#include "shaders/surface/surface_parameters.h"
#include "shaders/surface/tokens.h"

namespace kiln::surface {
namespace {

constexpr size_t kPathNameBytes = 64;

// Generated text, line by line.
class LineWriter {
 public:
  // Returns: the number of the line.
  uint32_t Add(std::string_view line) {
    text_ += line;
    text_ += '\n';
    return ++lines_;
  }

  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
  uint32_t lines_ = 0;
};

bool IsOrEndsWith(std::string_view path, std::string_view name) {
  return path == name || (path.size() > name.size() && path.ends_with(name) &&
                          path[path.size() - name.size() - 1] == '/');
}

void PutFile(Program& program, std::string path, std::string text) {
  const auto at =
      std::ranges::lower_bound(program.files, path, {}, &SourceFile::path);
  if (at != program.files.end() && at->path == path) {
    at->text = std::move(text);
  } else {
    program.files.insert(at, {std::move(path), std::move(text)});
  }
}

// Edges of the surfaces' own includes.
void AddSurfaceEdges(const Program& program, uint32_t index,
                     const Surface& surface, const IncludeResolver& resolve,
                     std::vector<IncludeEdge>& edges) {
  for (const SurfaceInclude& include : IncludesOf(surface.text)) {
    IncludeEdge edge;
    edge.from = SurfacePath(index, surface.name);
    edge.name = std::string(include.name);
    edge.angled = include.angled;
    absl::StatusOr<std::string> path =
        resolve ? resolve(program, include) : FindInclude(program, include);
    if (path.ok()) {
      edge.path = *std::move(path);
    } else {
      edge.problem = std::string(path.status().message());
    }
    edges.push_back(std::move(edge));
  }
}

// The edges of `program` with the generated files' in place of what they had.
std::vector<IncludeEdge> WithEdges(const Program& program,
                                   const SurfaceSet& set,
                                   const std::vector<std::string>& generated,
                                   const IncludeResolver& resolve) {
  std::vector<IncludeEdge> edges;
  for (IncludeEdge edge : program.includes) {
    if (edge.name == program.surface.include && edge.path.empty()) {
      edge.path = generated.front();
      edge.problem.clear();
    }
    if (std::ranges::find(generated, edge.from) == generated.end()) {
      edges.push_back(std::move(edge));
    }
  }
  for (const auto& [index, surface] : set.surfaces()) {
    const std::string path = SurfacePath(index, surface.name);
    for (const std::string& from : generated) {
      edges.push_back({from, path, true, path, ""});
    }
    AddSurfaceEdges(program, index, surface, resolve, edges);
  }
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  return edges;
}

absl::Status CheckSize(const Program& program) {
  size_t bytes = 0;
  for (const SourceFile& file : program.files) {
    bytes += file.path.size() + file.text.size();
  }
  if (program.files.size() > limits::kProgramFiles ||
      bytes > limits::kProgramBytes) {
    return absl::ResourceExhaustedError(fmt::format(
        "program {} with its surface shaders has {} files of {} bytes, over "
        "the limit of {} of {}",
        program.name, program.files.size(), bytes, limits::kProgramFiles,
        limits::kProgramBytes));
  }
  return absl::OkStatus();
}

}  // namespace

std::string SurfacePath(uint32_t index, std::string_view name) {
  std::string part;
  for (const char c :
       name.substr(name.size() - std::min(name.size(), kPathNameBytes))) {
    const bool is_plain = IsWordCharacter(c) || c == '-' ||
                          (c == '.' && !part.empty() && part.back() != '.');
    part += is_plain ? c : '_';
  }
  return fmt::format("kiln_surfaces/{}/{}", index,
                     part.empty() ? "surface" : part);
}

std::vector<std::string> GeneratedPaths(const Program& program) {
  const std::string& name = program.surface.include;
  std::set<std::string> paths;
  if (name.empty()) {
    return {};
  }
  for (const IncludeEdge& edge : program.includes) {
    if (edge.name == name && !edge.path.empty()) {
      paths.insert(edge.path);
    }
  }
  if (program.includes.empty()) {
    for (const SourceFile& file : program.files) {
      if (IsOrEndsWith(file.path, name)) {
        paths.insert(file.path);
      }
    }
  }
  if (paths.empty()) {
    paths.insert(name);
  }
  return {paths.begin(), paths.end()};
}

absl::StatusOr<GeneratedFile> Generate(const SurfaceSlot& slot,
                                       const SurfaceSet& set) {
  KILN_RETURN_IF_ERROR(CheckSlot(slot));
  KILN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        ParameterNames(slot.parameters));
  const std::string arguments = fmt::format("{}", fmt::join(names, ", "));
  GeneratedFile file;
  LineWriter out;
  out.Add("// Made by Kiln: the surface shaders, and which index is which.");
  for (const auto& [index, surface] : set.surfaces()) {
    file.include_lines[index] =
        out.Add(fmt::format("#include <{}>", SurfacePath(index, surface.name)));
    for (const std::string& macro : IsolateNames(surface.text, index).macros) {
      out.Add(fmt::format("#undef {}", macro));
    }
  }
  file.function_line = out.Add(fmt::format(
      "void kiln_surface(uint kiln_index{}{}) {{", names.empty() ? "" : ", ",
      names.empty() ? "" : slot.parameters));
  if (!set.empty()) {
    out.Add("  switch (kiln_index) {");
    for (const auto& [index, surface] : set.surfaces()) {
      file.call_lines[index] =
          out.Add(fmt::format("    case {}u: {}({}); break;", index,
                              IsolatedName(slot.function, index), arguments));
    }
    out.Add("    default: break;");
    out.Add("  }");
  }
  out.Add("}");
  file.text = std::move(out).Take();
  return file;
}

absl::StatusOr<std::string> FindInclude(const Program& program,
                                        const SurfaceInclude& include) {
  for (const IncludeEdge& edge : program.includes) {
    if (edge.name == include.name && !edge.path.empty()) {
      return edge.path;
    }
  }
  if (program.FindFile(include.name) != nullptr) {
    return std::string(include.name);
  }
  for (const SourceFile& file : program.files) {
    if (IsOrEndsWith(file.path, include.name)) {
      return file.path;
    }
  }
  return absl::NotFoundError(
      fmt::format("no file '{}' in the program",
                  Shorten(include.name, limits::kNameBytes)));
}

absl::StatusOr<Program> Apply(const Program& program, const SurfaceSet& set,
                              const IncludeResolver& resolve) {
  if (program.surface.include.empty()) {
    return set.empty()
               ? absl::StatusOr<Program>(program)
               : absl::FailedPreconditionError(fmt::format(
                     "program {} takes no surface shaders", program.name));
  }
  KILN_ASSIGN_OR_RETURN(GeneratedFile file, Generate(program.surface, set));
  const bool has_edges = !program.includes.empty();
  if (has_edges &&
      std::ranges::none_of(program.includes, [&](const auto& edge) {
        return edge.name == program.surface.include;
      })) {
    return absl::FailedPreconditionError(
        fmt::format("no shader of program {} includes '{}'", program.name,
                    program.surface.include));
  }
  Program applied = program;
  const std::vector<std::string> generated = GeneratedPaths(program);
  if (has_edges) {
    applied.includes = WithEdges(program, set, generated, resolve);
  }
  for (const std::string& path : generated) {
    PutFile(applied, path, file.text);
  }
  for (const auto& [index, surface] : set.surfaces()) {
    PutFile(applied, SurfacePath(index, surface.name),
            IsolateNames(surface.text, index).text);
  }
  KILN_RETURN_IF_ERROR(CheckSize(applied));
  return applied;
}

}  // namespace kiln::surface
