// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/prove.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/variant_key.h"
#include "shaders/lab/case_drawer.h"
#include "shaders/lab/derivation.h"
#include "shaders/lab/generic_cases.h"
#include "shaders/lab/lab_device.h"
#include "shaders/lab/picture_image.h"
#include "shaders/lab/random.h"

namespace kiln::lab {
namespace {

std::string AxesText(const VariantKey& key) {
  return fmt::format("{}/{}/{}", key.kind, key.backdrop, key.blend);
}

// A folder's name: what could not be one in a program's names is replaced.
std::string FolderName(uint64_t seed, const VariantKey& key) {
  std::string name = fmt::format("case-{}-{}", seed, AxesText(key));
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; },
      '_');
  return name;
}

std::vector<std::string> BitNames(const Program& program, FeatureMask mask) {
  std::vector<std::string> names;
  for (const FeatureBit& feature : program.features) {
    if ((mask >> feature.bit & 1) != 0) {
      names.push_back(feature.name);
    }
  }
  return names;
}

std::string DriverOf(const pipeline::Device& device) {
  for (const IdentityField& field : device.identity().fields) {
    if (field.name == "driver_id") {
      return field.value;
    }
  }
  return "";
}

// One case while it is looked at.
struct Case {
  uint64_t seed = 0;
  VariantKey whole_key;  // every bit, not normalised away
  DrawInputs inputs;
  DrawFeatures features;         // of each draw's normalised key
  std::vector<size_t> variants;  // the draws that are not to be whole

  // Features with `bit` clear in the variants that have it, and whole else.
  DrawFeatures Without(FeatureMask all, FeatureMask bit) const {
    DrawFeatures without(features.size(), all);
    for (const size_t draw : variants) {
      without[draw] &= ~(features[draw] & bit);
    }
    return without;
  }
};

class Prover {
 public:
  Prover(pipeline::Device& device, const Program& program,
         const ProveOptions& options)
      : device_(device), program_(program), options_(options) {}

  absl::StatusOr<ProveReport> Run();

 private:
  absl::Status CheckProgram() const;
  void ChooseKeys();
  void ChooseTolerance();
  absl::Status Prepare();
  const VariantKey& KeyOf(uint64_t seed) const;
  absl::StatusOr<FeatureMask> Derive(const DrawInputs& inputs, size_t draw);
  absl::StatusOr<Case> MakeCase(uint64_t seed);
  absl::StatusOr<bool> RunCase(uint64_t seed);
  absl::Status AddDifference(const Case& on, const Picture& variant,
                             const PictureDifference& difference);
  absl::Status CountBits(const Case& on);
  KindReport& KindOf(const VariantKey& key);

  pipeline::Device& device_;
  const Program& program_;
  const ProveOptions& options_;
  const FeatureMask all_ = program_.AllFeatures();
  std::unique_ptr<CaseDrawer> drawer_;
  std::unique_ptr<Derivation> derivation_;
  std::unique_ptr<CaseSource> made_source_;
  CaseSource* source_ = nullptr;
  std::vector<std::vector<VariantKey>> keys_;  // whole ones, by kind
  std::set<VariantKey> variants_;
  ProveReport report_;
};

absl::Status Prover::CheckProgram() const {
  KILN_RETURN_IF_ERROR(CheckRunsCommands(device_.handles()));
  if (program_.IsCompute()) {
    return absl::InvalidArgumentError(fmt::format(
        "program {} is a compute shader: it draws no picture to compare",
        program_.name));
  }
  for (const std::string& kind : options_.kinds) {
    if (program_.FindKind(kind) == nullptr) {
      std::vector<std::string_view> names;
      for (const Kind& known : program_.kinds) {
        names.push_back(known.value.name);
      }
      return absl::InvalidArgumentError(fmt::format(
          "program {} has no kind '{}'; it has {}", program_.name,
          Shorten(kind, limits::kNameBytes), fmt::join(names, ", ")));
    }
  }
  return absl::OkStatus();
}

// Kinds take turns, and within a kind its backdrops and blends.
void Prover::ChooseKeys() {
  std::map<std::string, std::vector<VariantKey>> by_kind;
  const Digest id = Digest::Of(EncodeProgram(program_));
  for (const VariantKey& key : WholeKeys(program_, id)) {
    by_kind[key.kind].push_back(key);
  }
  for (const Kind& kind : program_.kinds) {
    const std::string& name = kind.value.name;
    if (options_.kinds.empty() ||
        std::ranges::find(options_.kinds, name) != options_.kinds.end()) {
      keys_.push_back(by_kind[name]);
      report_.kinds.push_back({name});
    }
  }
}

void Prover::ChooseTolerance() {
  const std::string driver = DriverOf(device_);
  for (const Tolerance& tolerance : options_.tolerances) {
    if (tolerance.driver == driver) {
      report_.tolerance = tolerance;
    }
  }
}

absl::Status Prover::Prepare() {
  KILN_RETURN_IF_ERROR(CheckProgram());
  ChooseKeys();
  ChooseTolerance();
  for (const FeatureBit& feature : program_.features) {
    report_.bits.push_back({feature.bit, feature.name});
  }
  if (!options_.derive && !program_.features.empty()) {
    KILN_ASSIGN_OR_RETURN(derivation_, Derivation::Make(device_, program_));
  }
  KILN_ASSIGN_OR_RETURN(drawer_,
                        CaseDrawer::Make(device_, program_, report_.tolerance));
  source_ = options_.source;
  if (source_ == nullptr) {
    KILN_ASSIGN_OR_RETURN(made_source_,
                          MakeCaseSource(program_, drawer_->code()));
    source_ = made_source_.get();
  }
  return absl::OkStatus();
}

const VariantKey& Prover::KeyOf(uint64_t seed) const {
  const std::vector<VariantKey>& of_kind = keys_[seed % keys_.size()];
  return of_kind[seed / keys_.size() % of_kind.size()];
}

KindReport& Prover::KindOf(const VariantKey& key) {
  return *std::ranges::find(report_.kinds, key.kind, &KindReport::kind);
}

absl::StatusOr<FeatureMask> Prover::Derive(const DrawInputs& inputs,
                                           size_t draw) {
  if (options_.derive) {
    return options_.derive(inputs, draw);
  }
  return derivation_ != nullptr ? derivation_->Derive(inputs, draw) : all_;
}

absl::StatusOr<Case> Prover::MakeCase(uint64_t seed) {
  Case made;
  made.seed = seed;
  made.whole_key = KeyOf(seed);
  made.whole_key.features = all_;
  made.inputs = source_->Make(
      seed, {made.whole_key.kind, made.whole_key.backdrop, made.whole_key.blend,
             options_.width, options_.height});
  const size_t draws = made.inputs.draws.size();
  made.features.assign(draws, all_);
  const size_t chosen = draws == 0 ? 0 : Random(~seed).Next() % draws;
  for (size_t draw = 0; draw < draws; ++draw) {
    if (options_.one_draw && draw != chosen) {
      continue;
    }
    VariantKey key = made.whole_key;
    KILN_ASSIGN_OR_RETURN(key.features, Derive(made.inputs, draw));
    KILN_ASSIGN_OR_RETURN(key, NormaliseKey(program_, std::move(key)));
    made.features[draw] = key.features;
    made.variants.push_back(draw);
    if (key.features != all_) {
      variants_.insert(std::move(key));
    }
  }
  return made;
}

absl::Status Prover::AddDifference(const Case& on, const Picture& variant,
                                   const PictureDifference& difference) {
  FeatureMask cleared = 0;
  for (const FeatureMask mask : on.features) {
    cleared |= all_ & ~mask;
  }
  CaseDifference& entry = report_.differences.emplace_back();
  entry.seed = on.seed;
  entry.label = AxesText(on.whole_key);
  entry.cleared = BitNames(program_, cleared);
  entry.picture = difference;
  if (report_.differences.size() > options_.differences_written) {
    return absl::OkStatus();
  }
  KILN_ASSIGN_OR_RETURN(entry.unstable, drawer_->Differs(on.Without(all_, 0)));
  KILN_ASSIGN_OR_RETURN(const FeatureMask blamed, drawer_->Blame(on.features));
  entry.blamed = BitNames(program_, blamed);
  entry.folder = options_.output / FolderName(on.seed, on.whole_key);
  return WriteDifference(entry.folder, drawer_->whole(), variant,
                         difference.layer);
}

absl::Status Prover::CountBits(const Case& on) {
  for (BitReport& bit : report_.bits) {
    const FeatureMask mask = FeatureMask{1} << bit.bit;
    const auto has = [&](size_t draw) {
      return (on.features[draw] & mask) != 0;
    };
    const bool set = std::ranges::any_of(on.variants, has);
    bit.set += set ? 1 : 0;
    bit.cleared += std::ranges::all_of(on.variants, has) ? 0 : 1;
    if (options_.sensitivity && set) {
      KILN_ASSIGN_OR_RETURN(const bool matters,
                            drawer_->Differs(on.Without(all_, mask)));
      bit.matters += matters ? 1 : 0;
    }
  }
  return absl::OkStatus();
}

// Returns: whether the pictures are the same.
absl::StatusOr<bool> Prover::RunCase(uint64_t seed) {
  KILN_ASSIGN_OR_RETURN(const Case on, MakeCase(seed));
  KILN_RETURN_IF_ERROR(drawer_->Load(on.whole_key, on.inputs));
  KILN_ASSIGN_OR_RETURN(const double covered, drawer_->Covered());
  KILN_ASSIGN_OR_RETURN(const Picture variant, drawer_->Draw(on.features));
  KILN_ASSIGN_OR_RETURN(const PictureDifference difference,
                        drawer_->Compare(variant));
  KindReport& kind = KindOf(on.whole_key);
  kind.covered += covered;
  ++kind.cases;
  ++report_.cases;
  if (!difference.same()) {
    ++kind.differences;
    KILN_RETURN_IF_ERROR(AddDifference(on, variant, difference));
  } else if (!difference.bytes_equal) {
    ++kind.tolerated;
  }
  KILN_RETURN_IF_ERROR(CountBits(on));
  return difference.same();
}

absl::StatusOr<ProveReport> Prover::Run() {
  KILN_RETURN_IF_ERROR(Prepare());
  for (uint32_t i = 0; i < options_.cases; ++i) {
    const uint64_t seed = options_.seed + i;
    const absl::StatusOr<bool> same = RunCase(seed);
    if (!same.ok()) {
      const absl::Status& status = same.status();
      return absl::Status(
          status.code(),
          fmt::format("case {} ({}): {}", seed, AxesText(KeyOf(seed)),
                      std::string_view(status.message().data(),
                                       status.message().size())));
    }
    if (options_.on_case && !options_.on_case({i + 1, options_.cases, seed,
                                               AxesText(KeyOf(seed)), *same})) {
      break;
    }
  }
  for (KindReport& kind : report_.kinds) {
    kind.covered /= std::max(kind.cases, 1u);
  }
  for (const VariantKey& key : variants_) {
    ++KindOf(key).variants;
  }
  report_.pipelines = drawer_->pipelines();
  return std::move(report_);
}

}  // namespace

absl::StatusOr<ProveReport> Prove(pipeline::Device& device,
                                  const Program& program,
                                  const ProveOptions& options) {
  return Prover(device, program, options).Run();
}

}  // namespace kiln::lab
