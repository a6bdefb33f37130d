// SPDX-License-Identifier: Apache-2.0
#pragma once

// What `kiln tune` prints of one tuning: a table, what was not measured and
// why, doubts, and the result.

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "client/cli/output.h"
#include "proto/program.h"
#include "proto/target.h"
#include "proto/variant_key.h"
#include "shaders/lab/tune.h"

namespace kiln::cli {

// {"WIDTH": 64, "HEIGHT": 4}
nlohmann::json SizeJson(const std::vector<OverrideValue>& overrides);

// Thread-compatible. Lifetime: everything it is made from outlives it.
class TunePrinter {
 public:
  TunePrinter(Output& output, const Program& program,
              const TargetIdentity& target, const lab::TuneReport& report)
      : output_(output), program_(program), target_(target), report_(report) {}

  // One line or object per size, fastest first, then those not measured.
  void PrintTable() const;

  // The size to use, and whether the daemon has it now.
  void PrintSummary(bool remembered) const;

 private:
  void PrintHeading() const;
  void PrintSize(const lab::TunedSize& size) const;
  void PrintRefused() const;
  void PrintDoubts() const;

  Output& output_;
  const Program& program_;
  const TargetIdentity& target_;
  const lab::TuneReport& report_;
};

}  // namespace kiln::cli
