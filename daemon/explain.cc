// SPDX-License-Identifier: Apache-2.0
#include "daemon/explain.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "proto/status_macros.h"
#include "proto/target_diff.h"

namespace kiln::daemon {
namespace {

constexpr size_t kKeyWeight = 8;
// A target of which only the digest is known: as far as another device.
constexpr size_t kUnknownTargetWeight = 16;
// No candidate is nearer, for what does not differ is `asked` itself.
constexpr size_t kLeastCost = 1;

// A program that was compared with the one asked for.
struct ComparedProgram {
  bool comparable = false;  // known, and of the same name
  Program schema;           // without its files
  std::vector<Difference> differences;
  size_t age = 0;  // 0: the same program; n: its n-th newest snapshot, ...
};

struct ComparedTarget {
  std::vector<Difference> differences;
  size_t cost = 0;
};

class NearestSearch {
 public:
  NearestSearch(ExplainSource& source, const Program& program,
                const StoredVariant& asked, const SearchLimits& limits)
      : source_(source), program_(program), asked_(asked), limits_(limits) {}

  absl::StatusOr<NearestVariant> Run() {
    KILN_RETURN_IF_ERROR(LookUp(asked_.key));
    KILN_RETURN_IF_ERROR(LookUpSnapshots());
    bool all = true;
    // Ties of the least cost are settled: only the same choices have it, and
    // all of these that could come first were looked up.
    if (!best_ || best_->cost > kLeastCost) {
      KILN_ASSIGN_OR_RETURN(all, Scan());
    }
    NearestVariant nearest;
    nearest.entries_searched = static_cast<uint32_t>(rows_);
    nearest.searched_all = all && !skipped_programs_;
    if (best_) {
      Describe(nearest);
    }
    return nearest;
  }

 private:
  struct Candidate {
    StoredVariant variant;
    size_t cost = 0;
    size_t age = 0;

    // The nearest is the least; ids at the end, so that it never depends on
    // the order in which candidates were found.
    auto Order(const Digest& target) const {
      return std::tuple(cost, age, variant.target != target,
                        std::tie(variant.key, variant.target));
    }
  };

  absl::Status LookUp(const VariantKey& key) {
    KILN_ASSIGN_OR_RETURN(const std::vector<StoredVariant> found,
                          source_.WithKey(KeyId(key)));
    rows_ += found.size();
    for (const StoredVariant& variant : found) {
      KILN_RETURN_IF_ERROR(Consider(variant));
    }
    return absl::OkStatus();
  }

  // The same choices in what the program was before, or has been since.
  absl::Status LookUpSnapshots() {
    KILN_ASSIGN_OR_RETURN(snapshots_, source_.Snapshots(asked_.key.program));
    for (const Digest& snapshot : snapshots_) {
      if (snapshot == asked_.key.program) {
        continue;
      }
      KILN_ASSIGN_OR_RETURN(const ComparedProgram* compared, Compare(snapshot));
      VariantKey key = asked_.key;
      key.program = snapshot;
      if (!compared->comparable) {
        continue;
      }
      if (auto normal = NormaliseKey(compared->schema, std::move(key));
          normal.ok()) {
        KILN_RETURN_IF_ERROR(LookUp(*normal));
      }
    }
    return absl::OkStatus();
  }

  // Returns: whether all rows were seen.
  absl::StatusOr<bool> Scan() {
    std::string row;
    do {
      if (rows_ >= limits_.rows) {
        return false;
      }
      KILN_ASSIGN_OR_RETURN(const StoredPage page, source_.List(row));
      for (const StoredVariant& variant : page.variants) {
        ++rows_;
        KILN_RETURN_IF_ERROR(Consider(variant));
      }
      row = page.next_row;
    } while (!row.empty());
    return true;
  }

  absl::Status Consider(const StoredVariant& variant) {
    if (variant.target == asked_.target && variant.key == asked_.key) {
      return absl::OkStatus();
    }
    KILN_ASSIGN_OR_RETURN(const ComparedProgram* program,
                          Compare(variant.key.program));
    if (!program->comparable) {
      return absl::OkStatus();
    }
    KILN_ASSIGN_OR_RETURN(const ComparedTarget* target,
                          CompareTarget(variant.target));
    const std::vector<Difference> choices =
        DiffKeys(program->schema, variant.key, program_, asked_.key);
    const Candidate candidate = {variant,
                                 program->differences.size() + target->cost +
                                     kKeyWeight * choices.size(),
                                 program->age};
    if (!best_ ||
        candidate.Order(asked_.target) < best_->Order(asked_.target)) {
      best_ = candidate;
    }
    return absl::OkStatus();
  }

  // Lifetime: that of the search.
  absl::StatusOr<const ComparedProgram*> Compare(const Digest& id) {
    auto [found, is_new] = programs_.try_emplace(id);
    ComparedProgram& compared = found->second;
    if (!is_new) {
      return &compared;
    }
    if (id == asked_.key.program) {
      compared.schema = program_;
    } else if (programs_.size() <= limits_.programs) {
      KILN_ASSIGN_OR_RETURN(std::optional<Program> program,
                            source_.FindProgram(id));
      if (!program || program->name != program_.name) {
        return &compared;
      }
      compared.schema = *std::move(program);
      compared.differences = DiffPrograms(compared.schema, program_);
      compared.age = static_cast<size_t>(std::ranges::find(snapshots_, id) -
                                         snapshots_.begin()) +
                     1;
    } else {
      skipped_programs_ = true;
      return &compared;
    }
    compared.comparable = true;
    compared.schema.files.clear();
    compared.schema.includes.clear();
    return &compared;
  }

  absl::StatusOr<const ComparedTarget*> CompareTarget(const Digest& id) {
    auto [found, is_new] = targets_.try_emplace(id);
    ComparedTarget& compared = found->second;
    if (!is_new || id == asked_.target) {
      return &compared;
    }
    KILN_ASSIGN_OR_RETURN(const std::optional<TargetIdentity> stored,
                          source_.FindTarget(id));
    KILN_ASSIGN_OR_RETURN(const std::optional<TargetIdentity> asked,
                          source_.FindTarget(asked_.target));
    if (stored && asked) {
      compared.differences = DiffTargets(*stored, *asked);
      compared.cost = compared.differences.size();
    } else {
      compared.differences = {
          {"driver", "target", id.ShortHex(), asked_.target.ShortHex()}};
      compared.cost = kUnknownTargetWeight;
    }
    return &compared;
  }

  void Describe(NearestVariant& nearest) {
    const StoredVariant& variant = best_->variant;
    const ComparedProgram& program = programs_[variant.key.program];
    const std::vector<Difference>& target =
        targets_[variant.target].differences;
    nearest.variant = variant;
    nearest.label = KeyLabel(program.schema, variant.key);
    nearest.differences = program.differences;
    const std::vector<Difference> choices =
        DiffKeys(program.schema, variant.key, program_, asked_.key);
    nearest.differences.insert(nearest.differences.end(), choices.begin(),
                               choices.end());
    nearest.differences.insert(nearest.differences.end(), target.begin(),
                               target.end());
    CapDifferences(nearest.differences);
  }

  ExplainSource& source_;
  const Program& program_;
  const StoredVariant& asked_;
  const SearchLimits limits_;
  std::vector<Digest> snapshots_;
  std::map<Digest, ComparedProgram> programs_;
  std::map<Digest, ComparedTarget> targets_;
  std::optional<Candidate> best_;
  size_t rows_ = 0;
  bool skipped_programs_ = false;
};

}  // namespace

absl::StatusOr<NearestVariant> FindNearest(ExplainSource& source,
                                           const Program& program,
                                           const StoredVariant& asked,
                                           const SearchLimits& limits) {
  return NearestSearch(source, program, asked, limits).Run();
}

}  // namespace kiln::daemon
