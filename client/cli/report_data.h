// SPDX-License-Identifier: Apache-2.0
#pragma once

// The register report as data: what each variant costs beside what the whole
// shader of the same kind, backdrop and blend costs. Made from completions
// here, shown as text by report_table.h and as a page by report_html.h.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/program.h"
#include "proto/target.h"
#include "proto/variant_key.h"

namespace kiln::v1 {
class Completion;
class Variant;
}  // namespace kiln::v1

namespace kiln::cli {

// The columns, in the order in which they are shown.
enum class Figure : uint8_t {
  kInstructions,
  kRegisters,
  kSpills,
  kWaves,
  kCodeBytes,
  kBlobBytes,
  kCompileMs,
};

inline constexpr std::array kFigures = {
    Figure::kInstructions, Figure::kRegisters, Figure::kSpills,
    Figure::kWaves,        Figure::kCodeBytes, Figure::kBlobBytes,
    Figure::kCompileMs};

// "instructions", "code bytes": the head of its column.
std::string_view FigureTitle(Figure figure);

// "instructions", "code_bytes": its name in JSON.
std::string_view FigureName(Figure figure);

// One value per figure; absent where the driver does not say.
struct Figures {
  std::array<std::optional<double>, kFigures.size()> values;

  std::optional<double>& operator[](Figure figure) {
    return values[static_cast<size_t>(figure)];
  }

  const std::optional<double>& operator[](Figure figure) const {
    return values[static_cast<size_t>(figure)];
  }
};

Figures FiguresOf(const v1::Variant& variant);

// "5955", "142.1", "n/a".
std::string FigureText(Figure figure, std::optional<double> value);

struct ReportRow {
  std::string variant;  // "Detail|Height", "sky/alpha whole SOFT=true"
  bool whole = false;   // the one that others are compared with
  Figures figures;
  Figures whole_figures;  // of the same kind, backdrop and blend
  std::string failure;    // one line, when it did not become ready

  // `figure` here divided by that of the whole shader. Absent where either is
  // missing or zero, and for the whole shader itself.
  std::optional<double> Ratio(Figure figure) const;

  // At most half the registers, and at least twice the waves, of the whole.
  bool HasHalfTheRegisters() const;
  bool HasTwiceTheWaves() const;

  // "half registers" and "twice the waves", where it has them.
  std::vector<std::string_view> Marks() const;
};

// The variants of one kind.
struct ReportTable {
  std::string kind;
  std::vector<ReportRow> rows;

  // Rows that are neither failed nor the whole shader, and those with a mark.
  size_t Variants() const;
  size_t Marked() const;
};

struct TargetReport {
  std::string target;  // "radv:vangogh"
  std::string device;  // as the driver calls it
  std::string driver;  // "radv Mesa 22.3.6"
  std::vector<ReportTable> tables;
};

struct Report {
  std::string program;
  std::vector<TargetReport> targets;
};

// True for the whole shader with every override at its default.
bool IsWhole(const Program& program, const VariantKey& key);

// `keys` each once, with the whole shader of every kind, backdrop and blend
// among them; in the order of the program's kinds, backdrops and blends, the
// whole shader first. Requires: normalised keys.
std::vector<VariantKey> WithWholeShaders(const Program& program,
                                         std::vector<VariantKey> keys);

// Requires: `keys` from WithWholeShaders, `completions` in their order.
TargetReport MakeTargetReport(const Program& program, std::string target,
                              const TargetIdentity& identity,
                              std::span<const VariantKey> keys,
                              std::span<const v1::Completion> completions);

}  // namespace kiln::cli
