// SPDX-License-Identifier: Apache-2.0
#pragma once

// A program without its files as a flat list of named facts, so that two
// programs are compared by comparing lists; and how texts are written in a
// difference. Internal to the diffs of proto/.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "proto/program.h"

namespace kiln {

struct ProgramFact {
  std::string kind;  // as Difference::kind
  std::string name;
  std::string value;  // never empty
  // Name of the fact of the same kind that this one is a part of: where that
  // one is new or gone, the part is not worth a line. Empty: of none.
  std::string whole;
};

// In the order of Difference's kinds, then as the program has them.
std::vector<ProgramFact> FactsOf(const Program& program);

// `text` in quotes on one line: valid UTF-8, control characters escaped.
std::string Quoted(std::string_view text);

// `text` without quotes on one line, as Shorten.
std::string OneLine(std::string_view text, size_t max_bytes);

}  // namespace kiln
