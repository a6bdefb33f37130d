// SPDX-License-Identifier: Apache-2.0
#include "client/cli/report_data.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "kiln/v1/kiln.pb.h"
#include "proto/manifest.h"
#include "proto/text.h"

namespace kiln::cli {
namespace {

struct FigureWords {
  std::string_view title;
  std::string_view name;
};

constexpr std::array<FigureWords, kFigures.size()> kWords = {{
    {"instructions", "instructions"},
    {"registers", "registers"},
    {"spills", "spills"},
    {"waves", "waves"},
    {"code bytes", "code_bytes"},
    {"blob bytes", "blob_bytes"},
    {"compile ms", "compile_ms"},
}};

template <typename Range, typename Name>
size_t IndexOf(const Range& range, std::string_view wanted, Name name_of) {
  return static_cast<size_t>(
      std::ranges::find(range, wanted,
                        [&](const auto& element) -> std::string_view {
                          return name_of(element);
                        }) -
      range.begin());
}

std::string_view NameOf(const AxisValue& value) {
  return value.name;
}

// The kinds of which there are several backdrops or blends.
std::set<std::string_view> KindsWithAxes(std::span<const VariantKey> keys) {
  std::map<std::string_view, const VariantKey*> first;
  std::set<std::string_view> kinds;
  for (const VariantKey& key : keys) {
    const VariantKey& one = *first.emplace(key.kind, &key).first->second;
    if (one.backdrop != key.backdrop || one.blend != key.blend) {
      kinds.insert(key.kind);
    }
  }
  return kinds;
}

VariantKey WholeOf(const Program& program, VariantKey key) {
  key.features = program.AllFeatures();
  key.overrides.clear();
  return key;
}

std::string FieldOf(const TargetIdentity& identity, std::string_view name) {
  const auto found =
      std::ranges::find(identity.fields, name, &IdentityField::name);
  return found == identity.fields.end() ? "" : found->value;
}

// "Detail|Height SOFT=true", with the other axes in front where the table has
// several of them.
std::string NameInTable(const Program& program, const VariantKey& key,
                        bool with_axes) {
  const std::string line = FormatManifestLine(program, key);
  const std::string axes = fmt::format("{}/{}/", key.backdrop, key.blend);
  const size_t kind_bytes = key.kind.size() + 1;
  return with_axes ? line.substr(kind_bytes)
                   : line.substr(kind_bytes + axes.size());
}

ReportRow MakeRow(const Program& program, const VariantKey& key,
                  const v1::Completion& completion, bool with_axes) {
  ReportRow row;
  row.variant = NameInTable(program, key, with_axes);
  row.whole = IsWhole(program, key);
  if (completion.state() == v1::STATE_READY) {
    row.figures = FiguresOf(completion.variant());
  } else {
    row.failure = Shorten(completion.failure().message(), 400);
  }
  return row;
}

}  // namespace

std::string_view FigureTitle(Figure figure) {
  return kWords[static_cast<size_t>(figure)].title;
}

std::string_view FigureName(Figure figure) {
  return kWords[static_cast<size_t>(figure)].name;
}

Figures FiguresOf(const v1::Variant& variant) {
  Figures figures;
  auto set = [&](Figure figure, bool present, uint32_t value) {
    if (present) {
      figures[figure] = value;
    }
  };
  set(Figure::kInstructions, variant.has_instructions(),
      variant.instructions());
  set(Figure::kRegisters, variant.has_registers(), variant.registers());
  set(Figure::kSpills, variant.has_spills(), variant.spills());
  set(Figure::kWaves, variant.has_waves(), variant.waves());
  set(Figure::kCodeBytes, variant.has_code_bytes(), variant.code_bytes());
  figures[Figure::kBlobBytes] = static_cast<double>(variant.blob_bytes());
  figures[Figure::kCompileMs] =
      static_cast<double>(variant.compile_us()) / 1000.0;
  return figures;
}

std::string FigureText(Figure figure, std::optional<double> value) {
  if (!value) {
    return "n/a";
  }
  return figure == Figure::kCompileMs ? fmt::format("{:.1f}", *value)
                                      : fmt::format("{:.0f}", *value);
}

std::optional<double> ReportRow::Ratio(Figure figure) const {
  const std::optional<double> mine = figures[figure];
  const std::optional<double> others = whole_figures[figure];
  if (whole || !mine || !others || *others == 0) {
    return std::nullopt;
  }
  return *mine / *others;
}

bool ReportRow::HasHalfTheRegisters() const {
  return Ratio(Figure::kRegisters).value_or(1) <= 0.5;
}

bool ReportRow::HasTwiceTheWaves() const {
  return Ratio(Figure::kWaves).value_or(1) >= 2;
}

std::vector<std::string_view> ReportRow::Marks() const {
  std::vector<std::string_view> marks;
  if (HasHalfTheRegisters()) {
    marks.emplace_back("half registers");
  }
  if (HasTwiceTheWaves()) {
    marks.emplace_back("twice the waves");
  }
  return marks;
}

size_t ReportTable::Variants() const {
  return static_cast<size_t>(std::ranges::count_if(
      rows,
      [](const ReportRow& row) { return !row.whole && row.failure.empty(); }));
}

size_t ReportTable::Marked() const {
  return static_cast<size_t>(std::ranges::count_if(
      rows, [](const ReportRow& row) { return !row.Marks().empty(); }));
}

bool IsWhole(const Program& program, const VariantKey& key) {
  return key.features == program.AllFeatures() && key.overrides.empty();
}

std::vector<VariantKey> WithWholeShaders(const Program& program,
                                         std::vector<VariantKey> keys) {
  std::set<VariantKey> unique(keys.begin(), keys.end());
  for (const VariantKey& key : keys) {
    unique.insert(WholeOf(program, key));
  }
  // Those without a rank yet keep the order in which they were asked for.
  std::vector<VariantKey> ordered;
  auto take = [&](const VariantKey& key) {
    if (unique.erase(key) != 0) {
      ordered.push_back(key);
    }
  };
  std::ranges::for_each(keys, take);
  std::ranges::for_each(std::vector(unique.begin(), unique.end()), take);
  auto rank = [&](const VariantKey& key) {
    return std::tuple(
        IndexOf(program.kinds, key.kind,
                [](const Kind& kind) { return NameOf(kind.value); }),
        IndexOf(program.backdrops, key.backdrop, NameOf),
        IndexOf(program.blends, key.blend, NameOf), !IsWhole(program, key));
  };
  std::ranges::stable_sort(ordered, {}, rank);
  return ordered;
}

TargetReport MakeTargetReport(const Program& program, std::string target,
                              const TargetIdentity& identity,
                              std::span<const VariantKey> keys,
                              std::span<const v1::Completion> completions) {
  TargetReport report;
  report.target = std::move(target);
  report.device = identity.device_name;
  report.driver = fmt::format("{} {}", FieldOf(identity, "driver_name"),
                              FieldOf(identity, "driver_info"));
  const std::set<std::string_view> with_axes = KindsWithAxes(keys);
  Figures whole_figures;
  for (size_t i = 0; i < keys.size(); ++i) {
    const VariantKey& key = keys[i];
    if (report.tables.empty() || report.tables.back().kind != key.kind) {
      report.tables.push_back({key.kind, {}});
    }
    ReportRow row =
        MakeRow(program, key, completions[i], with_axes.contains(key.kind));
    if (row.whole) {
      whole_figures = row.figures;
    }
    row.whole_figures = whole_figures;
    report.tables.back().rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace kiln::cli
