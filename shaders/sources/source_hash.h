// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two hashes of a compiled shader (SPEC section 3). The *name* hash says
// which entry it is: it stays when the text changes. The *source-set* hash says
// whether the entry is still valid: it changes with every text that its stage
// can include, and with nothing else; text that comes back brings the hash
// back.
//
// Both are SHA-256 of canonical bytes (proto/canonical.h), in this order:
//
//   name:       text "kiln.name", u32 version, text path, defines
//   source set: text "kiln.sources", u32 version, u8 stage, u8 language,
//               text entry, text path, defines, u8 no_contraction,
//               sequence of files { text path, id of the text's digest },
//               sequence of includes { text from, text name, u8 angled,
//                                      text path, text problem }
//   defines:    sequence { text name, text value }, sorted
//
// Files and includes are those that the stage reaches, sorted. A change of
// either layout raises kSourceHashVersion, and with it all hashes.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "proto/digest.h"
#include "proto/program.h"

namespace kiln::sources {

inline constexpr uint32_t kSourceHashVersion = 1;

// `path` is a virtual path as it was asked for, or an id.
Digest NameHash(std::string_view path, std::span<const Define> defines);

// Requires: a whole program (not Program::rooted) and one of its stages.
Digest SourceSetHash(const Program& program, const StageSource& stage);

// What a stage can include, sorted. Lifetime: `files` is that of the program.
struct ReachedSources {
  std::vector<const SourceFile*> files;
  std::vector<IncludeEdge> includes;
};

// By Program::includes, or where that is empty by the look-up rule of a whole
// program (include_paths.h). Requires: as above.
ReachedSources ReachedBy(const Program& program, const StageSource& stage);

}  // namespace kiln::sources
