// SPDX-License-Identifier: Apache-2.0
#include "proto/program_diff.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "proto/program_facts.h"
#include "proto/text_diff.h"

namespace kiln {
namespace {

constexpr std::array<std::string_view, 5> kFactKinds = {
    "define", "option", "surface", "schema", "pipeline"};

// Makes both sides short. Where that leaves them alike, their digests tell
// them apart.
Difference Make(std::string_view kind, std::string_view name,
                const std::string& stored, const std::string& asked) {
  constexpr size_t kDigestBytes = 20;
  Difference difference = {std::string(kind), OneLine(name, kDifferenceBytes),
                           OneLine(stored, kDifferenceBytes - kDigestBytes),
                           OneLine(asked, kDifferenceBytes - kDigestBytes)};
  if (difference.stored == difference.asked) {
    difference.stored += " " + Digest::Of(AsBytes(stored)).ShortHex();
    difference.asked += " " + Digest::Of(AsBytes(asked)).ShortHex();
  }
  return difference;
}

// Every path or fact of two sorted-by-key maps, with what each side has.
template <typename Map, typename Visit>
void VisitBoth(const Map& stored, const Map& asked, Visit visit) {
  auto a = stored.begin();
  auto b = asked.begin();
  while (a != stored.end() || b != asked.end()) {
    const bool has_a =
        a != stored.end() && (b == asked.end() || a->first <= b->first);
    const bool has_b =
        b != asked.end() && (a == stored.end() || b->first <= a->first);
    visit(has_a ? a->first : b->first, has_a ? &a->second : nullptr,
          has_b ? &b->second : nullptr);
    a = has_a ? std::next(a) : a;
    b = has_b ? std::next(b) : b;
  }
}

using Files = std::map<std::string_view, std::string_view>;

Files FilesOf(const Program& program) {
  Files files;
  for (const SourceFile& file : program.files) {
    files.emplace(file.path, file.text);
  }
  return files;
}

bool IsBinary(const Program& program, std::string_view path,
              std::string_view text) {
  const bool is_spirv_stage =
      std::ranges::any_of(program.stages, [&](const StageSource& stage) {
        return stage.path == path && stage.language == Language::kSpirv;
      });
  return is_spirv_stage || LanguageOfPath(path) == Language::kSpirv ||
         text.find('\0') != text.npos;
}

// Where kilnd puts the user code of a program (shaders/surface/), and how the
// file that it generates to call it begins its includes.
constexpr std::string_view kSurfaceFolder = "kiln_surfaces/";
constexpr std::string_view kSurfaceInclude = "#include <kiln_surfaces/";

bool IncludesSurfaces(std::string_view text) {
  return text.find(kSurfaceInclude) != text.npos;
}

std::string Summary(std::string_view text) {
  return fmt::format("{} bytes, {}", text.size(),
                     Digest::Of(AsBytes(text)).ShortHex());
}

// An include as both programs may have it: who includes which name how.
using EdgeName = std::tuple<std::string_view, std::string_view, bool>;
using Edges = std::map<EdgeName, const IncludeEdge*>;

Edges EdgesOf(const Program& program) {
  Edges edges;
  for (const IncludeEdge& edge : program.includes) {
    edges.emplace(EdgeName(edge.from, edge.name, edge.angled), &edge);
  }
  return edges;
}

std::string IncludeText(const IncludeEdge& edge) {
  const char* const quotes = edge.angled ? "<>" : "\"\"";
  return fmt::format("{} includes {}{}{}", edge.from, quotes[0], edge.name,
                     quotes[1]);
}

std::string OpensText(const IncludeEdge& edge) {
  return edge.path.empty() ? fmt::format("nothing: {}", edge.problem)
                           : edge.path;
}

// Compares two programs; short-lived, refers to both.
class ProgramComparison {
 public:
  ProgramComparison(const Program& stored, const Program& asked)
      : stored_(stored), asked_(asked) {}

  std::vector<Difference> Run() && {
    CompareIncludes();  // first, since they explain files that come and go
    CompareFiles();
    std::vector<Difference> out = std::move(files_);
    if (!surfaces_differ_) {  // else it follows from these
      out.insert(out.end(), generated_.begin(), generated_.end());
    }
    out.insert(out.end(), includes_.begin(), includes_.end());
    CompareFacts(out);
    if (out.empty()) {
      const Digest before = Digest::Of(EncodeProgram(stored_));
      const Digest now = Digest::Of(EncodeProgram(asked_));
      if (before != now) {
        out.push_back(Make("option", "order of declarations", before.ShortHex(),
                           now.ShortHex()));
      }
    }
    return out;
  }

 private:
  // An include that only one side has is a difference of the file it is in.
  void CompareIncludes() {
    VisitBoth(
        EdgesOf(stored_), EdgesOf(asked_),
        [&](const EdgeName&, const IncludeEdge* const* before,
            const IncludeEdge* const* now) {
          if (before == nullptr || now == nullptr ||
              OpensText(**before) == OpensText(**now)) {
            return;
          }
          includes_.push_back(Make("file", IncludeText(**now),
                                   OpensText(**before), OpensText(**now)));
          replaced_.insert((*before)->path);
          replaced_.insert((*now)->path);
        });
  }

  void CompareFiles() {
    VisitBoth(
        FilesOf(stored_), FilesOf(asked_),
        [&](std::string_view path, const std::string_view* before,
            const std::string_view* now) { CompareFile(path, before, now); });
  }

  void CompareFile(std::string_view path, const std::string_view* before,
                   const std::string_view* now) {
    const bool generated = (before != nullptr && IncludesSurfaces(*before)) ||
                           (now != nullptr && IncludesSurfaces(*now));
    const bool surface = generated || path.starts_with(kSurfaceFolder);
    const std::string_view kind = surface ? "surface" : "file";
    std::vector<Difference>& out = generated ? generated_ : files_;
    surfaces_differ_ |=
        surface && !generated &&
        (before == nullptr || now == nullptr || *before != *now);
    if (before == nullptr || now == nullptr) {
      if (!replaced_.contains(path)) {
        out.push_back(Make(kind, path, before ? Summary(*before) : "",
                           now ? Summary(*now) : ""));
      }
    } else if (*before != *now) {
      if (IsBinary(stored_, path, *before) || IsBinary(asked_, path, *now)) {
        out.push_back(Make(kind, path, Summary(*before), Summary(*now)));
      } else {
        const FirstDifference first = FindFirstDifference(*before, *now);
        out.push_back(Make(kind, path, first.a, first.b));
      }
    }
  }

  using FactName = std::pair<size_t, std::string>;
  using Facts = std::map<FactName, ProgramFact>;

  static Facts FactMap(const Program& program) {
    Facts facts;
    for (ProgramFact& fact : FactsOf(program)) {
      const auto kind = static_cast<size_t>(
          std::ranges::find(kFactKinds, fact.kind) - kFactKinds.begin());
      std::string name = fact.name;
      for (int i = 2; facts.contains({kind, name}); ++i) {
        name = fmt::format("{} ({})", fact.name, i);
      }
      facts.emplace(FactName(kind, std::move(name)), std::move(fact));
    }
    return facts;
  }

  void CompareFacts(std::vector<Difference>& out) const {
    const Facts stored = FactMap(stored_);
    const Facts asked = FactMap(asked_);
    VisitBoth(stored, asked,
              [&](const FactName& name, const ProgramFact* before,
                  const ProgramFact* now) {
                const ProgramFact& fact = before ? *before : *now;
                const FactName whole(name.first, fact.whole);
                const bool implied =
                    !fact.whole.empty() &&
                    stored.contains(whole) != asked.contains(whole);
                const std::string a = before ? before->value : "";
                const std::string b = now ? now->value : "";
                if (a != b && !implied) {
                  out.push_back(Make(fact.kind, name.second, a, b));
                }
              });
  }

  const Program& stored_;
  const Program& asked_;
  std::vector<Difference> files_;
  std::vector<Difference> generated_;  // of files that call the surfaces
  bool surfaces_differ_ = false;
  std::vector<Difference> includes_;
  std::set<std::string, std::less<>> replaced_;
};

// What `key` sets; nullopt where it leaves the default.
std::optional<uint64_t> ValueIn(const VariantKey& key, std::string_view name) {
  auto found = std::ranges::find(key.overrides, name, &OverrideValue::name);
  return found == key.overrides.end() ? std::nullopt
                                      : std::optional(found->value);
}

}  // namespace

std::vector<Difference> DiffPrograms(const Program& stored,
                                     const Program& asked) {
  return ProgramComparison(stored, asked).Run();
}

std::vector<Difference> DiffKeys(const Program& stored_program,
                                 const VariantKey& stored,
                                 const Program& asked_program,
                                 const VariantKey& asked) {
  std::vector<Difference> out;
  auto add_axis = [&](const char* name, const std::string& before,
                      const std::string& now) {
    if (before != now) {
      out.push_back(Make("key", name, before, now));
    }
  };
  add_axis("kind", stored.kind, asked.kind);
  add_axis("backdrop", stored.backdrop, asked.backdrop);
  add_axis("blend", stored.blend, asked.blend);
  for (const FeatureBit& feature : asked_program.features) {
    const FeatureBit* other = stored_program.FindFeature(feature.name);
    if (other == nullptr) {
      continue;
    }
    const bool before = (stored.features >> other->bit & 1) != 0;
    const bool now = (asked.features >> feature.bit & 1) != 0;
    if (before != now) {
      out.push_back(Make("key", fmt::format("feature {}", feature.name),
                         before ? "on" : "off", now ? "on" : "off"));
    }
  }
  for (const Override& entry : asked_program.overrides) {
    const Override* other = stored_program.FindOverride(entry.name);
    const auto before = ValueIn(stored, entry.name);
    const auto now = ValueIn(asked, entry.name);
    // Where both leave the default, another one is a matter of the programs.
    if (other == nullptr || (!before && !now)) {
      continue;
    }
    const std::string a =
        FormatConstant(other->type, before.value_or(other->default_value));
    const std::string b =
        FormatConstant(entry.type, now.value_or(entry.default_value));
    if (a != b) {
      out.push_back(Make("key", fmt::format("override {}", entry.name), a, b));
    }
  }
  return out;
}

void CapDifferences(std::vector<Difference>& differences) {
  if (differences.size() <= kMaxDifferences) {
    return;
  }
  const size_t more = differences.size() - kMaxDifferences;
  Difference last = {differences[kMaxDifferences].kind,
                     fmt::format("and {} more", more)};
  differences.resize(kMaxDifferences);
  differences.push_back(std::move(last));
}

}  // namespace kiln
