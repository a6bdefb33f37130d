// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compiles what precompile_plan.h found: many front ends at once, the whole
// shaders of their programs if wanted, a bar meanwhile and every failure at the
// end.

#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/status.h"
#include "client/blocking.h"
#include "client/cli/output.h"
#include "client/cli/precompile_plan.h"
#include "client/cli/progress.h"
#include "client/rpc.h"
#include "proto/digest.h"
#include "proto/variant_key.h"

namespace kiln::cli {

struct PrecompileSettings {
  // Requests without an answer at a time. More keeps all of the daemon's
  // workers busy; fewer leaves them to others. 0: as many as it queues well.
  size_t jobs = 0;
  // Also compiles each program's whole shader, of every kind, backdrop and
  // blend.
  bool whole = false;
};

// Confined to one thread. Requires: what is passed in outlives it.
class PrecompileRun {
 public:
  PrecompileRun(Output& output, client::RpcClient& rpc,
                client::BlockingSession& session, PrecompilePlan plan,
                const PrecompileSettings& settings);

  // Tries everything. Prints what is done as objects, for --json.
  // Errors: Aborted after Ctrl-C, else those of the daemon going away. That a
  // shader does not compile is none. Blocks: for as long as it takes.
  absl::Status Run();

  // The failures and their diagnostics, then one line or object that sums up.
  // `facts`: more members of the object.
  void PrintSummary(const std::string& roots, const nlohmann::json& facts);

  size_t failed() const { return failures_.size(); }

  // Full virtual paths of the shaders, programs and folders that failed.
  const std::set<std::string>& failed_paths() const { return failed_paths_; }

 private:
  // One thing asked for.
  struct Item {
    std::string label;
    Digest program;
    VariantKey key;  // of variants
    const PlannedShader* planned = nullptr;
  };

  struct Tally {
    size_t total = 0;
    size_t up_to_date = 0;
    size_t compiled = 0;
    size_t failed = 0;

    size_t unfinished() const { return total - up_to_date - compiled - failed; }
  };

  struct Failure {
    std::string label;
    std::string message;
    std::string diagnostics;
  };

  using Sender = std::function<absl::Status(size_t begin, size_t end)>;

  absl::Status Register(std::vector<Item>& items);
  absl::Status CompileShaders(const std::vector<Item>& items);
  absl::Status CompileVariants(const std::vector<Item>& items);
  absl::Status CompileAll(const std::vector<Item>& items, Tally& tally,
                          const Sender& send);
  void Completed(const Item& item, const v1::Completion& completion,
                 Tally& tally);
  void Failed(const Item& item, Failure failure, std::string_view code,
              Tally& tally);
  void Show(const std::string& last);

  Output& output_;
  client::RpcClient& rpc_;
  client::BlockingSession& session_;
  const PrecompilePlan plan_;
  const PrecompileSettings settings_;
  const std::chrono::steady_clock::time_point start_;
  StatusLine line_;
  Tally shaders_;
  Tally variants_;
  std::vector<Failure> failures_;
  std::set<std::string> failed_paths_;
};

}  // namespace kiln::cli
