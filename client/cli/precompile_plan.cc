// SPDX-License-Identifier: Apache-2.0
#include "client/cli/precompile_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "absl/status/statusor.h"
#include "client/cli/root_walk.h"
#include "client/shader_program.h"
#include "proto/program_file.h"
#include "proto/status_macros.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgramEnding = ".program.toml";

// A program file as a recipe. One that lists its sources names them by its own
// folder, here `prefix`, a full virtual path; a rooted one stays as it is.
absl::StatusOr<Program> LoadRecipe(const fs::path& file,
                                   const std::string& prefix) {
  if (auto program = LoadProgramFile(file); program.ok() && program->rooted) {
    return program;
  }
  KILN_ASSIGN_OR_RETURN(Program program,
                        LoadProgramFile(file, {.rooted = true}));
  for (StageSource& stage : program.stages) {
    stage.path = prefix + stage.path;
  }
  if (!program.derivation.empty()) {
    program.derivation = prefix + program.derivation;
  }
  KILN_RETURN_IF_ERROR(program.Validate());
  return program;
}

class Planner {
 public:
  explicit Planner(std::span<const PlannedRoot> roots) : roots_(roots) {}

  PrecompilePlan Plan() {
    std::vector<std::pair<const PlannedRoot*, std::string>> singles;
    for (const PlannedRoot& root : roots_) {
      const RootFiles found = WalkRoot(root.folder);
      for (const UnreadFolder& unread : found.unread) {
        Problem(
            root,
            unread.path.empty() ? "/" + root.name : FullPath(root, unread.path),
            unread.status);
      }
      for (const std::string& file : found.files) {
        if (file.ends_with(kProgramEnding)) {
          AddProgram(root, file);
        } else if (root.wanted && client::StageOfPath(file).has_value()) {
          singles.emplace_back(&root, file);
        }
      }
    }
    for (const auto& [root, file] : singles) {
      AddSingle(*root, file);
    }
    std::ranges::sort(plan_.shaders, {}, &PlannedShader::path);
    return std::move(plan_);
  }

 private:
  static std::string FullPath(const PlannedRoot& root,
                              const std::string& file) {
    return fmt::format("/{}/{}", root.name, file);
  }

  void Problem(const PlannedRoot& root, const std::string& path,
               const absl::Status& status) {
    if (root.wanted) {
      plan_.problems.push_back({path, status});
    }
  }

  void AddProgram(const PlannedRoot& root, const std::string& file) {
    const std::string path = FullPath(root, file);
    auto program =
        LoadRecipe(root.folder / file, path.substr(0, path.rfind('/') + 1));
    if (!program.ok()) {
      Problem(root, path, program.status());
      return;
    }
    for (const StageSource& stage : program->stages) {
      Claim(stage.path);
    }
    if (root.wanted) {
      plan_.shaders.push_back({path, *std::move(program), true});
    }
  }

  // `path` is compiled as part of a program.
  void Claim(const std::string& path) {
    if (path.starts_with('/')) {
      claimed_.insert(path);
      return;
    }
    std::error_code error;
    const auto found = std::ranges::find_if(roots_, [&](const auto& root) {
      return fs::is_regular_file(root.folder / path, error);
    });
    if (found != roots_.end()) {
      claimed_.insert(FullPath(*found, path));
    }
  }

  void AddSingle(const PlannedRoot& root, const std::string& file) {
    client::ShaderSource source;
    source.path = FullPath(root, file);
    if (claimed_.contains(source.path)) {
      return;
    }
    source.stage = client::StageOfPath(file).value();
    source.language = LanguageOfPath(file);
    Program program = client::ShaderProgram(source);
    if (absl::Status status = program.Validate(); !status.ok()) {
      Problem(root, source.path, status);
    } else {
      plan_.shaders.push_back({source.path, std::move(program)});
    }
  }

  const std::span<const PlannedRoot> roots_;
  std::set<std::string> claimed_;  // full virtual paths
  PrecompilePlan plan_;
};

}  // namespace

PrecompilePlan PlanPrecompile(std::span<const PlannedRoot> roots) {
  return Planner(roots).Plan();
}

}  // namespace kiln::cli
