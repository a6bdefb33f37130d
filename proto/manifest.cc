// SPDX-License-Identifier: Apache-2.0
#include "proto/manifest.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "proto/status_macros.h"
#include "proto/text.h"

namespace kiln {
namespace {

constexpr size_t kShownNameBytes = 100;
constexpr size_t kShownListBytes = 600;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

absl::Status Invalid(const std::string& text) {
  return absl::InvalidArgumentError(text);
}

std::string_view MessageOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

// `text` up to the first `separator`, which is taken off with it.
std::string_view Take(std::string_view& text, std::string_view separators) {
  const size_t end = std::min(text.find_first_of(separators), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::string_view word = Take(line, " \t");
    if (!word.empty()) {
      words.push_back(word);
    }
  }
  return words;
}

std::vector<std::string_view> SplitAtBars(std::string_view text) {
  const auto bars = std::ranges::count(text, '|');
  std::vector<std::string_view> parts;
  for (auto i = bars; i >= 0; --i) {
    parts.push_back(Take(text, "|"));
  }
  return parts;
}

template <typename Range, typename Name>
absl::Status NoSuch(const Program& program, std::string_view what,
                    std::string_view name, const Range& range, Name name_of) {
  std::vector<std::string_view> names;
  names.reserve(range.size());
  for (const auto& element : range) {
    names.emplace_back(std::invoke(name_of, element));
  }
  return Invalid(fmt::format(
      "program {} has no {} '{}'; it has {}", program.name, what,
      Shorten(name, kShownNameBytes),
      names.empty() ? "none"
                    : Shorten(fmt::format("{}", fmt::join(names, ", ")),
                              kShownListBytes)));
}

const std::string& NameOfKind(const Kind& kind) {
  return kind.value.name;
}

// Reads lines for one program. Thread-compatible.
class LineReader {
 public:
  LineReader(const Program& program, const Digest& program_id)
      : program_(program) {
    for (const Kind& kind : program.kinds) {
      for (const AxisValue& backdrop : program.backdrops) {
        for (const AxisValue& blend : program.blends) {
          axes_[fmt::format("{}/{}/{}", kind.value.name, backdrop.name,
                            blend.name)]
              .push_back({program_id,
                          kind.value.name,
                          backdrop.name,
                          blend.name,
                          0,
                          {}});
        }
      }
    }
  }

  // Requires: at least one word.
  absl::StatusOr<VariantKey> Read(std::vector<std::string_view> words) const {
    for (size_t i = 2; i < words.size(); ++i) {
      if (words[i].starts_with('#')) {
        words.resize(i);
      }
    }
    KILN_ASSIGN_OR_RETURN(VariantKey key, ReadAxes(words[0]));
    if (words.size() < 2) {
      return Invalid(
          "has no features; write their names joined by '|', none, "
          "or whole");
    }
    KILN_ASSIGN_OR_RETURN(key.features, ReadFeatures(words[1]));
    if (words.size() > 2) {
      KILN_ASSIGN_OR_RETURN(key.overrides, ReadOverrides(words[2]));
    }
    if (words.size() > 3) {
      return Invalid(fmt::format("'{}' follows the overrides",
                                 Shorten(words[3], kShownNameBytes)));
    }
    return NormaliseKey(program_, std::move(key));
  }

 private:
  absl::StatusOr<VariantKey> ReadAxes(std::string_view text) const {
    if (const auto found = axes_.find(text); found != axes_.end()) {
      if (found->second.size() > 1) {  // names may hold a '/'
        return Invalid(fmt::format("'{}' can be read in {} ways", text,
                                   found->second.size()));
      }
      return found->second.front();
    }
    const std::string_view whole = text;
    const std::string_view kind = Take(text, "/");
    const std::string_view backdrop = Take(text, "/");
    if (program_.FindKind(kind) == nullptr) {
      return NoSuch(program_, "kind", kind, program_.kinds, NameOfKind);
    }
    if (std::ranges::count(whole, '/') != 2) {
      return Invalid(fmt::format("'{}' is not kind/backdrop/blend",
                                 Shorten(whole, kShownNameBytes)));
    }
    return program_.FindBackdrop(backdrop) == nullptr
               ? NoSuch(program_, "backdrop", backdrop, program_.backdrops,
                        &AxisValue::name)
               : NoSuch(program_, "blend", text, program_.blends,
                        &AxisValue::name);
  }

  absl::StatusOr<FeatureMask> ReadFeatures(std::string_view text) const {
    if (text == "none") {
      return 0;
    }
    if (text == "whole") {
      return program_.AllFeatures();
    }
    FeatureMask mask = 0;
    for (const std::string_view name : SplitAtBars(text)) {
      const FeatureBit* feature = program_.FindFeature(name);
      if (feature == nullptr) {
        return NoSuch(program_, "feature", name, program_.features,
                      &FeatureBit::name);
      }
      mask |= FeatureMask{1} << feature->bit;
    }
    return mask;
  }

  absl::StatusOr<std::vector<OverrideValue>> ReadOverrides(
      std::string_view text) const {
    std::vector<OverrideValue> overrides;
    for (std::string_view value : SplitAtBars(text)) {
      if (value.find('=') == value.npos) {
        return Invalid(fmt::format("override '{}' is not NAME=VALUE",
                                   Shorten(value, kShownNameBytes)));
      }
      const std::string_view name = Take(value, "=");
      const Override* declared = program_.FindOverride(name);
      if (declared == nullptr) {
        return NoSuch(program_, "override", name, program_.overrides,
                      &Override::name);
      }
      const auto bits = ParseConstant(declared->type, value);
      if (!bits.ok()) {
        return Invalid(
            fmt::format("override {}: {}", name, MessageOf(bits.status())));
      }
      overrides.push_back({std::string(name), *bits});
    }
    return overrides;
  }

  const Program& program_;
  // Every combination under its text.
  std::map<std::string, std::vector<VariantKey>, std::less<>> axes_;
};

absl::Status ReadLine(const LineReader& reader, std::string_view line,
                      Manifest& manifest, std::set<VariantKey>& seen) {
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  if (line.size() > limits::kManifestLineBytes) {
    return Invalid(fmt::format("is over {} bytes", limits::kManifestLineBytes));
  }
  std::vector<std::string_view> words = Words(line);
  if (words.empty() || words[0].starts_with('#')) {
    return absl::OkStatus();
  }
  if (!IsValidUtf8(line)) {
    return Invalid("is not valid UTF-8");
  }
  KILN_ASSIGN_OR_RETURN(VariantKey key, reader.Read(std::move(words)));
  if (++manifest.written > limits::kManifestKeys) {
    return Invalid(
        fmt::format("the manifest has over {} keys", limits::kManifestKeys));
  }
  if (seen.insert(key).second) {
    manifest.keys.push_back(std::move(key));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadManifestText(
    const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return absl::NotFoundError("no such file");
  }
  const uintmax_t size = std::filesystem::file_size(file, error);
  if (error || size > limits::kManifestBytes) {
    return Invalid(
        fmt::format("over {} bytes, or no file", limits::kManifestBytes));
  }
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) {
    return absl::PermissionDeniedError("cannot be read");
  }
  return text;
}

}  // namespace

absl::StatusOr<Manifest> ParseManifest(const Program& program,
                                       const Digest& program_id,
                                       std::string_view text) {
  if (text.size() > limits::kManifestBytes) {
    return Invalid(
        fmt::format("manifest is over {} bytes", limits::kManifestBytes));
  }
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  const LineReader reader(program, program_id);
  Manifest manifest;
  std::set<VariantKey> seen;
  for (size_t number = 1; !text.empty(); ++number) {
    const absl::Status status =
        ReadLine(reader, Take(text, "\n"), manifest, seen);
    if (!status.ok()) {
      return Invalid(
          fmt::format("manifest line {}: {}", number, MessageOf(status)));
    }
  }
  return manifest;
}

absl::StatusOr<Manifest> LoadManifestFile(const Program& program,
                                          const Digest& program_id,
                                          const std::filesystem::path& file) {
  absl::StatusOr<Manifest> manifest;
  absl::StatusOr<std::string> text = ReadManifestText(file);
  if (text.ok()) {
    manifest = ParseManifest(program, program_id, *text);
  } else {
    manifest = text.status();
  }
  if (!manifest.ok()) {
    return absl::Status(manifest.status().code(),
                        fmt::format("{}: {}", ToValidUtf8(file.string()),
                                    MessageOf(manifest.status())));
  }
  return manifest;
}

std::string FormatManifestLine(const Program& program, const VariantKey& key) {
  return KeyLabel(program, key).substr(program.name.size() + 1);
}

}  // namespace kiln
