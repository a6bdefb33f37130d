// SPDX-License-Identifier: Apache-2.0
#pragma once

// How many variants a program really needs (SPEC section 4: only bits that
// remove expensive code, numbers rounded up to steps, flags that move together
// merged). Pure: from statistics and keys to advice. Where they come from is
// in advise.cc, how advice reads in advice_text.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/artifact.h"
#include "proto/program.h"
#include "proto/variant_key.h"

namespace kiln::cli {

// What is left out at once: a bit, or a group of bits that the program merges.
// Those that `kind` reaches, in the order of the program's bits.
std::vector<FeatureMask> FeatureUnits(const Program& program, const Kind& kind);

// What compiles of one kind said about one unit.
struct BitTrial {
  std::string kind;
  FeatureMask bits = 0;
  VariantCost whole{};    // every block
  VariantCost without{};  // every block but these
  // The second look: no block, and these alone. A block whose code others
  // need as well, or hide, is seen here only.
  std::optional<VariantCost> none{};
  std::optional<VariantCost> alone{};
};

enum class Worth : uint8_t {
  kUnknown,  // the driver counts neither instructions nor bytes
  kNothing,  // no figure differs: the kind does not reach the block
  kLittle,   // too little code, no register and no wave
  kEnough,
};

// "unknown", "nothing", "little", "enough".
const char* WorthName(Worth worth);

struct BitAdvice {
  BitTrial trial;
  Worth worth = Worth::kUnknown;
  // Share of the whole shader's instructions, or code bytes where the driver
  // counts no instructions, that leaving the bits out saves. May be negative.
  std::optional<double> saved{};
};

// `threshold`: a share of the whole shader, e.g. 0.02. Under it, with the same
// registers and waves, a block is too little. Without the second look the
// verdicts kNothing and kLittle are provisional.
BitAdvice JudgeBit(BitTrial trial, double threshold);

// Bits that have one value in every key, though not the same in all keys.
struct FlagGroup {
  FeatureMask bits = 0;
  size_t set_in = 0;  // keys
};

// What the feature bits of a list of keys have in common. Whole shaders do not
// count: they are always there and say nothing about content. Nor does a key
// count for a bit that its kind does not reach.
struct FlagAdvice {
  size_t keys = 0;         // that count
  FeatureMask always = 0;  // set in every one
  FeatureMask never = 0;   // set in none
  std::vector<FlagGroup> groups{};
};

FlagAdvice StudyFlags(const Program& program, std::span<const VariantKey> keys);

// An override with more values than a few steps would have.
struct OverrideAdvice {
  std::string name;
  std::vector<uint64_t> seen;   // ascending, without the default
  std::vector<uint64_t> steps;  // what they would be rounded up to
};

// Only overrides that have no steps yet and are not a workgroup size, which
// must be what it says.
inline constexpr size_t kFewValues = 4;
std::vector<OverrideAdvice> StudyOverrides(const Program& program,
                                           std::span<const VariantKey> keys);

// Distinct variants, as one piece of advice after the other is taken.
struct VariantCounts {
  size_t written = 0;
  size_t normalised = 0;
  size_t worth = 0;   // bits that are worth little or nothing are always on
  size_t merged = 0;  // and flags are merged, overrides rounded to steps
};

struct Advice {
  std::vector<BitAdvice> bits{};
  FlagAdvice flags{};
  std::vector<OverrideAdvice> overrides{};
  VariantCounts counts{};
};

// Fills in all but `bits`. Requires: normalised `keys`, each once.
Advice Advise(const Program& program, std::span<const VariantKey> keys,
              size_t written, std::vector<BitAdvice> bits);

}  // namespace kiln::cli
