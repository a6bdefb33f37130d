// SPDX-License-Identifier: Apache-2.0
#include "client/cli/precompile_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "absl/status/statusor.h"
#include "client/shader_program.h"
#include "proto/program_facts.h"
#include "proto/program_file.h"
#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProgramEnding = ".program.toml";

bool IsHidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

// A link is followed where the daemon would: not out of its root.
bool IsFileWithin(const fs::directory_entry& entry, const fs::path& folder) {
  std::error_code error;
  if (!entry.is_regular_file(error)) {
    return false;
  }
  if (!entry.is_symlink(error)) {
    return true;
  }
  const fs::path target = fs::canonical(entry.path(), error);
  if (error) {
    return false;
  }
  const fs::path relative =
      target.lexically_relative(fs::canonical(folder, error));
  return !error && !relative.empty() && *relative.begin() != "..";
}

// Paths in the root, sorted.
absl::StatusOr<std::vector<std::string>> FilesOf(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator it(
      folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (IsHidden(it->path())) {
      it.disable_recursion_pending();
    } else if (IsFileWithin(*it, folder)) {
      files.push_back(it->path().lexically_relative(folder).generic_string());
    }
  }
  if (error) {
    return absl::UnavailableError(fmt::format(
        "cannot list {}: {}", Quoted(folder.string()), error.message()));
  }
  std::ranges::sort(files);
  return files;
}

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
      const auto files = FilesOf(root.folder);
      if (!files.ok()) {
        Problem(root, "/" + root.name, files.status());
        continue;
      }
      for (const std::string& file : *files) {
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
