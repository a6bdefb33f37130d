// SPDX-License-Identifier: Apache-2.0
#include "shaders/diagnostics.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "shaders/sources/include_scan.h"
#include "shaders/sources/source_hash.h"

namespace kiln::shaders {
namespace {

constexpr std::string_view kDigits = "0123456789";

// The line of the first `#version` of a text; 1 when there is none.
size_t VersionLine(std::string_view text) {
  const size_t at = text.find("#version");
  return at == text.npos ? 1 : LineOf(text, at);
}

// Where a text gives a constant_id: "constant_id = 7", "local_size_x_id = 7" or
// "constant_id(7)".
struct GivenId {
  std::string_view id;  // digits
  size_t offset = 0;
};

std::vector<GivenId> GivenIds(std::string_view text) {
  constexpr std::string_view kName = "_id";
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<GivenId> given;
  for (size_t at = text.find(kName); at != text.npos;
       at = text.find(kName, at + 1)) {
    const std::string_view before = text.substr(0, at);
    const size_t sign = text.find_first_not_of(kBlanks, at + kName.size());
    if ((!before.ends_with("constant") && !before.ends_with("local_size_x") &&
         !before.ends_with("local_size_y") &&
         !before.ends_with("local_size_z")) ||
        sign == text.npos || (text[sign] != '(' && text[sign] != '=')) {
      continue;
    }
    const size_t first = text.find_first_not_of(kBlanks, sign + 1);
    if (first == text.npos) {
      break;
    }
    const size_t end =
        std::min(text.find_first_not_of(kDigits, first), text.size());
    if (end != first) {
      given.push_back({text.substr(first, end - first), at});
    }
  }
  return given;
}

// The line of the first id that an earlier place gives, too: glslang says that
// there is one in an HLSL source, but not where. 1 when the text has none, as
// when an include has it.
size_t RepeatedIdLine(std::string_view text) {
  std::set<std::string_view> seen;
  for (const GivenId& given : GivenIds(text)) {
    if (!seen.insert(given.id).second) {
      return LineOf(text, given.offset);
    }
  }
  return 1;
}

// `message` without what glslang adds to every error of an #include: the name,
// which ours have.
std::string_view WithoutHeaderName(std::string_view message) {
  constexpr std::string_view kAdded = " for header name: ";
  const size_t at = message.find("'#include' : ") == message.npos
                        ? message.npos
                        : message.rfind(kAdded);
  return message.substr(0, at);
}

// Control characters that the compiler quotes, as C writes them.
std::string Visible(std::string_view message) {
  std::string visible;
  for (const char c : message) {
    if (c == '\f' || c == '\v') {
      visible += c == '\f' ? "\\f" : "\\v";
    } else if (static_cast<unsigned char>(c) < 0x20 && c != '\t') {
      visible += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      visible += c;
    }
  }
  return visible;
}

// A message that begins with a place of its own, of a negative line, as shaderc
// leaves it: "name:-5: text". Returns: the name; empty: there is none.
std::string_view NameOfNegativeLine(std::string_view message) {
  const size_t at = message.find(":-");
  if (at == message.npos) {
    return {};
  }
  const size_t end = message.find_first_not_of(kDigits, at + 2);
  return end == message.npos || end == at + 2 || message[end] != ':'
             ? std::string_view()
             : message.substr(0, at);
}

class Tidier {
 public:
  Tidier(const Program& program, const StageSource& source,
         const CompilerNames& names)
      : program_(program),
        source_(source),
        names_(names),
        path_(names.Of(source.path)) {
    const SourceFile* file = program.FindFile(source.path);
    text_ = file == nullptr ? std::string_view() : file->text;
  }

  void Add(std::string_view line) {
    const std::string placed =
        Visible(names_.WithPath(Place(WithoutHeaderName(line))));
    if (placed.find(" : missing #endif") != placed.npos) {
      AddUnended();
    }
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
  // glslang notices at the end of the stage's file; what is not ended may lie
  // in a file that it includes.
  void AddUnended() {
    for (const SourceFile* file : sources::ReachedBy(program_, source_).files) {
      for (const uint32_t line : sources::UnendedConditions(file->text)) {
        out_ += ErrorAt(file->path, line, "this #if is not ended in its file");
      }
    }
  }

  std::string Place(std::string_view line) const {
    constexpr std::string_view kInternal = "shaderc: internal error: ";
    if (line.starts_with(kInternal)) {
      return fmt::format("{}:1: error: {}", path_,
                         line.substr(kInternal.size()));
    }
    for (const std::string_view kind : {": error: ", ": warning: "}) {
      if (!line.starts_with(path_) ||
          !line.substr(path_.size()).starts_with(kind)) {
        continue;
      }
      const std::string_view message = line.substr(path_.size() + kind.size());
      if (const std::string_view name = NameOfNegativeLine(message);
          !name.empty()) {
        const size_t end = message.find(": ", name.size());
        return fmt::format("{}:1{}{}", name, kind,
                           message.substr(std::min(end + 2, message.size())));
      }
      return fmt::format("{}:{}{}", path_, PlaceOf(line),
                         line.substr(path_.size()));
    }
    return WithFile(line);
  }

  // `#line MACRO` may name a string, not a file (no file has a number for a
  // name: compiler_names.h), and HLSL's faults of no place are of "0:0".
  std::string WithFile(std::string_view line) const {
    const size_t colon = line.find_first_not_of(kDigits);
    if (colon == 0 || colon == line.npos || line[colon] != ':') {
      return std::string(line);
    }
    const std::string_view rest = line.substr(colon + 1);
    const size_t end = rest.find_first_not_of(kDigits);
    if (end == 0 || end == rest.npos || rest[end] != ':') {
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
  const StageSource& source_;
  const CompilerNames& names_;
  const std::string path_;  // as the compiler knows it
  std::string_view text_;
  std::string out_;
};

}  // namespace

std::string TidyDiagnostics(const Program& program, const StageSource& source,
                            const CompilerNames& names, std::string_view text) {
  Tidier tidier(program, source, names);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    tidier.Add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(tidier).Take();
}

size_t LineOf(std::string_view text, size_t offset) {
  size_t line = 1;
  for (size_t i = 0; i < std::min(offset, text.size()); ++i) {
    const bool ends_alone =
        text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n');
    line += text[i] == '\n' || ends_alone ? 1 : 0;
  }
  return line;
}

std::string ErrorAtConstantId(const Program& program, const StageSource& source,
                              uint32_t id, std::string_view text) {
  std::string error = ErrorAt(source.path, 1, text);
  if (source.language == Language::kSpirv) {
    return error;
  }
  size_t places = 0;
  for (const SourceFile* file : sources::ReachedBy(program, source).files) {
    for (const GivenId& given : GivenIds(file->text)) {
      if (given.id == std::to_string(id) && ++places <= 2) {
        error = ErrorAt(file->path, LineOf(file->text, given.offset), text);
      }
    }
  }
  return error;
}

std::string ErrorAt(std::string_view path, size_t line, std::string_view text) {
  return fmt::format("{}:{}: error: {}\n", ShownPath(path), line, text);
}

}  // namespace kiln::shaders
