// SPDX-License-Identifier: Apache-2.0
#include "shaders/diagnostics.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "proto/text.h"

namespace kiln::shaders {
namespace {

constexpr std::string_view kDigits = "0123456789";

// The line of the first `#version` of a text; 1 when there is none.
size_t VersionLine(std::string_view text) {
  const size_t at = text.find("#version");
  return at == text.npos ? 1 : LineOf(text, at);
}

// The line of the first `constant_id(N)` whose N an earlier one has: glslang
// says that there is one in an HLSL source, but not where. 1 when the text has
// none, as when an include has it.
size_t RepeatedIdLine(std::string_view text) {
  constexpr std::string_view kName = "constant_id";
  std::map<std::string_view, size_t> seen;
  for (size_t at = text.find(kName); at != text.npos;
       at = text.find(kName, at + 1)) {
    const size_t open = text.find_first_not_of(" \t", at + kName.size());
    if (open == text.npos || text[open] != '(') {
      continue;
    }
    const size_t first = text.find_first_not_of(" \t", open + 1);
    if (first == text.npos) {
      break;
    }
    const size_t end =
        std::min(text.find_first_not_of(kDigits, first), text.size());
    if (!seen.emplace(text.substr(first, end - first), at).second) {
      return LineOf(text, at);
    }
  }
  return 1;
}

class Tidier {
 public:
  Tidier(const Program& program, const StageSource& source)
      : program_(program), path_(source.path) {
    const SourceFile* file = program.FindFile(source.path);
    text_ = file == nullptr ? std::string_view() : file->text;
  }

  void Add(std::string_view line) {
    const std::string placed = Place(line);
    out_ += placed;
    out_ += '\n';
    // Said after "path:line: error: ".
    constexpr std::string_view kComputed =
        "'#include' : must be followed by a header name";
    if (const size_t at = placed.find(": error: " + std::string(kComputed));
        at != placed.npos) {
      out_ += placed.substr(0, at) +
              ": note: an #include needs the name itself, in quotes or <>, "
              "not a macro\n";
    }
  }

  std::string Take() && { return std::move(out_); }

 private:
  std::string Place(std::string_view line) const {
    constexpr std::string_view kInternal = "shaderc: internal error: ";
    if (line.starts_with(kInternal)) {
      return fmt::format("{}:1: error: {}", path_,
                         line.substr(kInternal.size()));
    }
    for (const std::string_view kind : {": error: ", ": warning: "}) {
      if (line.starts_with(path_) &&
          line.substr(path_.size()).starts_with(kind)) {
        return fmt::format("{}:{}{}", path_, PlaceOf(line),
                           line.substr(path_.size()));
      }
    }
    return WithFile(line);
  }

  // `#line 7 2` names a string, not a file, and HLSL's faults of no place are
  // of "0:0".
  std::string WithFile(std::string_view line) const {
    const size_t colon = line.find_first_not_of(kDigits);
    if (colon == 0 || colon == line.npos || line[colon] != ':') {
      return std::string(line);
    }
    const std::string_view rest = line.substr(colon + 1);
    const size_t end = rest.find_first_not_of(kDigits);
    if (end == 0 || end == rest.npos || rest[end] != ':' ||
        program_.FindFile(line.substr(0, colon)) != nullptr) {
      return std::string(line);
    }
    return rest.substr(0, end) == "0"
               ? fmt::format("{}:{}{}", path_, PlaceOf(line), rest.substr(end))
               : fmt::format("{}:{}", path_, rest);
  }

  size_t PlaceOf(std::string_view message) const {
    if (message.find("specialization-constant id already used") !=
        message.npos) {
      return RepeatedIdLine(text_);
    }
    return message.find("version") == message.npos ? 1 : VersionLine(text_);
  }

  const Program& program_;
  const std::string& path_;
  std::string_view text_;
  std::string out_;
};

}  // namespace

std::string TidyDiagnostics(const Program& program, const StageSource& source,
                            std::string_view text) {
  Tidier tidier(program, source);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    tidier.Add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(tidier).Take();
}

size_t LineOf(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<size_t>(std::ranges::count(before, '\n'));
}

std::string ErrorAt(std::string_view path, size_t line, std::string_view text) {
  return fmt::format("{}:{}: error: {}\n", ToValidUtf8(path), line, text);
}

}  // namespace kiln::shaders
