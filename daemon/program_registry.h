// SPDX-License-Identifier: Apache-2.0
#pragma once

// The programs the daemon knows: decoded once, kept in memory, backed by the
// store, each with what the front end made of it.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "proto/artifact.h"
#include "proto/bytes.h"
#include "proto/digest.h"
#include "proto/program.h"

namespace kiln::storage {
class VariantStore;
}  // namespace kiln::storage

namespace kiln::daemon {

// One stage's SPIR-V with its id and what came with it.
struct Module {
  StageModule id;
  Bytes spirv;
  Bytes interface {};      // canonical ModuleInterface; empty: not known
  std::string warnings{};  // of the compiler
};

// Compiler output, up to 64 KiB of it, shared by all keys it belongs to; may be
// null.
using Diagnostics = std::shared_ptr<const std::string>;

// What one version of the compiler made of a program.
struct FrontEndResult {
  std::vector<Module> modules;  // empty: it failed
  absl::Status failure;
  Diagnostics diagnostics;
  std::vector<std::string> unused_overrides{};  // as in FrontEnd
};

// A program and its front-end results. Thread-safe; shared between the
// registry and the jobs in flight.
class RegisteredProgram {
 public:
  RegisteredProgram(Digest id, Program program, Bytes canonical)
      : id_(id),
        program_(std::move(program)),
        canonical_(std::move(canonical)) {}

  const Digest& id() const { return id_; }

  const Program& program() const { return program_; }

  ByteView canonical() const { return canonical_; }

  // SourceSetHash of each stage, in order. Computed by the first call, which
  // hashes every source. Requires: no recipe.
  const std::vector<Digest>& stage_hashes() const;

  // Returns: null if that compiler has not run yet.
  std::shared_ptr<const FrontEndResult> front_end(
      std::string_view compiler) const;
  void set_front_end(std::string_view compiler, FrontEndResult result);

  // Of any compiler, so that it runs again.
  void ForgetFailures();

  // Stages that this compiler has made already, for this program or another
  // whose stage reads the same sources. Empty once `front_end` is there.
  std::vector<Module> known_stages(std::string_view compiler) const;
  void set_known_stages(std::string_view compiler, std::vector<Module> stages);

 private:
  const Digest id_;
  const Program program_;
  const Bytes canonical_;
  mutable absl::once_flag hashed_;
  mutable std::vector<Digest> stage_hashes_;  // written under hashed_
  mutable absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<const FrontEndResult>, std::less<>>
      results_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<Module>, std::less<>> known_stages_
      ABSL_GUARDED_BY(mutex_);
};

// Thread-safe. Requires: the store outlives the registry.
class ProgramRegistry {
 public:
  explicit ProgramRegistry(storage::VariantStore& store) : store_(store) {}

  // Keeps a program under `id`, and stores it if the disk has room. Returns:
  // true if it was new.
  // Errors: InvalidArgument when the bytes are no valid program or not the
  // named one; nothing is stored then. Blocks: disk.
  absl::StatusOr<bool> Register(const Digest& id, Bytes canonical);

  // Errors: NotFound naming the id. Blocks: disk, the first time.
  absl::StatusOr<std::shared_ptr<RegisteredProgram>> Find(const Digest& id);

  // Brings back from the store what `compiler` made of the program, or of some
  // of its stages, in an earlier run, if anything. Blocks: disk.
  void LoadFrontEnd(RegisteredProgram& program, std::string_view compiler);

  // Remembers what `compiler` made of a program, and of each of its stages.
  // Blocks: disk.
  absl::Status StoreFrontEnd(const RegisteredProgram& program,
                             std::string_view compiler,
                             const std::vector<Module>& modules,
                             const std::vector<std::string>& unused_overrides);

  // Drops a program from memory: a snapshot that a later one has replaced.
  // Jobs that hold it go on; the store keeps it.
  void Forget(const Digest& id);

 private:
  std::optional<Module> LoadModule(const StageModule& id);

  storage::VariantStore& store_;
  absl::Mutex mutex_;
  absl::flat_hash_map<Digest, std::shared_ptr<RegisteredProgram>> programs_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace kiln::daemon
