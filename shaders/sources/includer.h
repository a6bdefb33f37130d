// SPDX-License-Identifier: Apache-2.0
#pragma once

// Resolves #include among the files of one program. Touches no file system:
// what the program does not carry does not exist (KNOWN_FAULTS 25). The glue to
// shaderc is in shaders/shaderc_front_end.cc.
//
// Where the program says what its includes open (Program::includes), that is
// so. Otherwise a quoted name is looked up beside the including file, then from
// the root; a name in <> from the root only. A file may be included again
// (templates, diamonds: it is text), once only if it says `#pragma once`, also
// under another path: the text counts, and that of all it includes, not its
// name (KNOWN_FAULTS 41). A file that is still open
// may be included again only if an include guard can stop it; anything else is
// a cycle.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/sources/include_paths.h"
#include "shaders/sources/include_scan.h"

namespace kiln::sources {

// How an include name is written in Program::includes, whatever bytes it has.
std::string EdgeName(std::string_view name);

// Returns: what `name` in the file `from` opens, or nullptr when `includes`,
// which is sorted, does not say.
const IncludeEdge* FindEdge(const std::vector<IncludeEdge>& includes,
                            std::string_view from, std::string_view name,
                            IncludeForm form);

// Thread-compatible; one per compile, since it counts.
// Lifetime: `program` must outlive it.
class Includer {
 public:
  Includer(const Program& program, std::string_view root_path);

  struct File {
    std::string_view path;  // as in Program::files
    std::string_view text;
  };

  // Opens `name`, met `depth - 1` includes below the root file. Which file
  // includes it follows from the calls so far: a #line directive can make the
  // compiler believe in another one (KNOWN_FAULTS 43).
  // Lifetime: of the views, that of the includer.
  // Errors: NotFound naming the includer and the places searched;
  // InvalidArgument for a path that leaves the program, a cycle ("a -> b -> a")
  // or a limit of limits.h that was passed.
  absl::StatusOr<File> Open(std::string_view name, IncludeForm form,
                            size_t depth);

 private:
  // What the text of one file says of itself.
  struct Facts {
    std::optional<TextSpan> pragma_once;
    bool guarded = false;
    std::string without_pragma;
    std::optional<std::vector<IncludeDirective>> includes;  // when asked for
  };

  absl::StatusOr<File> OpenNow(std::string_view name, IncludeForm form,
                               size_t depth);
  // What `name` opens in the file `from`.
  absl::StatusOr<const SourceFile*> Resolve(std::string_view from,
                                            std::string_view name,
                                            IncludeForm form) const;
  bool WasOnce(const SourceFile& file);
  bool IsSame(const SourceFile& a, const SourceFile& b);
  const std::vector<IncludeDirective>& IncludesOf(const SourceFile& file);
  absl::Status CheckCycle(const SourceFile& file);
  std::string Chain(size_t first, std::string_view last) const;
  Facts& FactsOf(const SourceFile& file);
  File TextOf(const SourceFile& file);

  const Program& program_;
  // The root file, then what is open in it.
  std::vector<std::string_view> open_;
  std::map<std::string_view, Facts> facts_;  // by path
  std::set<std::string_view> once_paths_;    // closed for good
  // By text; files that said so.
  std::map<std::string_view, std::vector<const SourceFile*>> once_files_;
  std::string failed_;  // the quoted name that did not open last
  absl::Status failure_;
  size_t count_ = 0;
  size_t expanded_bytes_ = 0;
};

}  // namespace kiln::sources
