// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/source_hash.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "proto/bytes.h"
#include "proto/canonical.h"
#include "shaders/sources/include_paths.h"
#include "shaders/sources/include_scan.h"
#include "shaders/sources/includer.h"

namespace kiln::sources {
namespace {

void WriteDefines(CanonicalWriter& out, std::span<const Define> defines) {
  std::vector<std::pair<std::string_view, std::string_view>> sorted;
  for (const Define& define : defines) {
    sorted.emplace_back(define.name, define.value);
  }
  std::ranges::sort(sorted);
  out.Sequence(sorted, [&](const auto& define) {
    out.Text(define.first);
    out.Text(define.second);
  });
}

// The edges of `file`, as Program::includes has them.
std::vector<IncludeEdge> KnownIncludes(const Program& program,
                                       const SourceFile& file) {
  auto edge = std::ranges::lower_bound(program.includes, file.path, {},
                                       &IncludeEdge::from);
  std::vector<IncludeEdge> edges;
  for (; edge != program.includes.end() && edge->from == file.path; ++edge) {
    edges.push_back(*edge);
  }
  return edges;
}

// The edges of `file`, found now.
std::vector<IncludeEdge> FoundIncludes(const Program& program,
                                       const SourceFile& file) {
  std::vector<IncludeEdge> edges;
  for (const IncludeDirective& include : ScanIncludes(file.text)) {
    IncludeEdge edge{file.path, EdgeName(include.name), include.angled, "", ""};
    const auto candidates = ProgramCandidates(
        file.path, include.name,
        include.angled ? IncludeForm::kAngled : IncludeForm::kQuoted);
    if (candidates.ok()) {
      const auto path =
          std::ranges::find_if(*candidates, [&](const std::string& candidate) {
            return program.FindFile(candidate) != nullptr;
          });
      edge.path = path == candidates->end() ? "" : *path;
    }
    edge.problem = edge.path.empty() ? "does not open" : "";
    edges.push_back(std::move(edge));
  }
  return edges;
}

}  // namespace

Digest NameHash(std::string_view path, std::span<const Define> defines) {
  CanonicalWriter out;
  out.Text("kiln.name");
  out.U32(kSourceHashVersion);
  out.Text(path);
  WriteDefines(out, defines);
  return Digest::Of(out.bytes());
}

Digest SourceSetHash(const Program& program, const StageSource& stage) {
  const ReachedSources reached = ReachedBy(program, stage);
  CanonicalWriter out;
  out.Text("kiln.sources");
  out.U32(kSourceHashVersion);
  out.U8(static_cast<uint8_t>(stage.stage));
  out.U8(static_cast<uint8_t>(stage.language));
  out.Text(stage.entry);
  out.Text(stage.path);
  WriteDefines(out, program.defines);
  out.U8(program.no_contraction ? 1 : 0);
  out.Sequence(reached.files, [&](const SourceFile* file) {
    out.Text(file->path);
    out.Id(Digest::Of(AsBytes(file->text)));
  });
  out.Sequence(reached.includes, [&](const IncludeEdge& edge) {
    out.Text(edge.from);
    out.Text(edge.name);
    out.U8(edge.angled ? 1 : 0);
    out.Text(edge.path);
    out.Text(edge.problem);
  });
  return Digest::Of(out.bytes());
}

ReachedSources ReachedBy(const Program& program, const StageSource& stage) {
  std::map<std::string_view, const SourceFile*> reached;
  std::set<IncludeEdge> edges;
  std::vector<const SourceFile*> open;
  auto reach = [&](std::string_view path) {
    const SourceFile* file = program.FindFile(path);
    if (file != nullptr && reached.emplace(file->path, file).second) {
      open.push_back(file);
    }
  };
  reach(stage.path);
  while (!open.empty()) {
    const SourceFile& file = *open.back();
    open.pop_back();
    if (stage.language == Language::kSpirv) {
      break;  // words include nothing
    }
    for (IncludeEdge& edge : program.includes.empty()
                                 ? FoundIncludes(program, file)
                                 : KnownIncludes(program, file)) {
      reach(edge.path);
      edges.insert(std::move(edge));
    }
  }
  ReachedSources sources;
  for (const auto& [path, file] : reached) {
    sources.files.push_back(file);
  }
  sources.includes.assign(edges.begin(), edges.end());
  return sources;
}

}  // namespace kiln::sources
