// SPDX-License-Identifier: Apache-2.0
#pragma once

// Resolves #include among the files of one program. Touches no file system:
// what the program does not carry does not exist (KNOWN_FAULTS 25). The glue to
// shaderc is in compiler.cc.
//
// A quoted name is looked up beside the including file, then from the root; a
// name in <> from the root only. A file may be included again (templates,
// diamonds: it is text), once only if it says `#pragma once`. A file that is
// still open may be included again only if an include guard can stop it;
// anything else is a cycle.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"

namespace kiln::shaders {

// Thread-compatible; one per compile, since it counts.
// Lifetime: `program` must outlive it.
class Includer {
 public:
  Includer(const Program& program, std::string_view root_path);

  struct File {
    std::string_view path;  // as in Program::files
    std::string_view text;
  };

  enum class Form { kQuoted, kAngled };

  // Opens `name` as included by `from`, which is `depth - 1` includes below the
  // root file. Lifetime: of the views, that of the includer.
  // Errors: NotFound naming the includer and the places searched;
  // InvalidArgument for a path that leaves the program, a cycle ("a -> b -> a")
  // or a limit of limits.h that was passed.
  absl::StatusOr<File> Open(std::string_view name, Form form,
                            std::string_view from, size_t depth);

 private:
  absl::StatusOr<const SourceFile*> Resolve(std::string_view name, Form form,
                                            std::string_view from) const;
  absl::Status CheckCycle(const SourceFile& file) const;
  std::string Chain(size_t first, std::string_view last) const;
  File TextOf(const SourceFile& file);

  const Program& program_;
  std::vector<std::string_view>
      open_;  // the root file, then what is open in it
  std::map<std::string_view, std::string>
      once_;  // `#pragma once` files seen, without it
  size_t count_ = 0;
  size_t expanded_bytes_ = 0;
};

}  // namespace kiln::shaders
