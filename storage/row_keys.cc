// SPDX-License-Identifier: Apache-2.0
#include "storage/row_keys.h"

#include <utility>

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "proto/text.h"

namespace kiln::storage {

ValueKind KindOf(Family family) {
  switch (family) {
    case Family::kMeta:
      return ValueKind::kSchema;
    case Family::kPrograms:
      return ValueKind::kProgram;
    case Family::kModules:
      return ValueKind::kModule;
    case Family::kFrontEnds:
      return ValueKind::kFrontEnd;
    case Family::kArtifacts:
      return ValueKind::kArtifact;
    case Family::kArtifactIndex:
      return ValueKind::kArtifactIndex;
    case Family::kTunings:
      return ValueKind::kTuning;
    case Family::kProgramIndex:
      return ValueKind::kProgramIndex;
    case Family::kInterfaces:
      return ValueKind::kInterface;
    case Family::kShaders:
      return ValueKind::kShader;
    case Family::kSnapshots:
      return ValueKind::kSnapshots;
    case Family::kSurfaces:
      return ValueKind::kSurfaces;
    case Family::kTargets:
      return ValueKind::kTarget;
    case Family::kRoots:
      return ValueKind::kRoots;
    case Family::kFailures:
      break;
  }
  return ValueKind::kFailure;
}

std::optional<Family> IndexOf(Family family) {
  switch (family) {
    case Family::kPrograms:
      return Family::kProgramIndex;
    case Family::kArtifacts:
      return Family::kArtifactIndex;
    default:
      return std::nullopt;
  }
}

RowWrite Sealed(Family family, std::string row, ByteView payload) {
  Bytes value = SealEnvelope(KindOf(family), row, payload);
  return {family, std::move(row), std::move(value)};
}

std::string ArtifactRow(const Digest& target, const Digest& key_id) {
  return std::string(target.raw()).append(key_id.raw());
}

std::string TuningRow(const Digest& target, const Digest& program) {
  return std::string(target.raw()).append(program.raw());
}

std::string FrontEndRow(const Digest& program,
                        std::string_view compiler_version) {
  return std::string(program.raw()).append(compiler_version);
}

std::string ShaderRow(const Digest& source_set,
                      std::string_view compiler_version) {
  return FrontEndRow(source_set, compiler_version);
}

std::string RowText(std::string_view row) {
  if (row.size() < Digest::kBytes) {
    return std::string(row);
  }
  const auto hex = [&](size_t at) {
    const std::string_view shown = row.substr(at, 6);
    return absl::BytesToHexString({shown.data(), shown.size()});
  };
  return row.size() == kArtifactRowBytes ? hex(0) + "/" + hex(Digest::kBytes)
                                         : hex(0);
}

absl::StatusOr<DigestRange> DigestRange::Of(std::string_view hex_prefix) {
  const auto padded = [&](char digit) {
    std::string hex(hex_prefix);
    hex.resize(2 * Digest::kBytes, digit);
    return Digest::FromHex(hex);
  };
  if (hex_prefix.empty() || hex_prefix.size() > 2 * Digest::kBytes ||
      !padded('0').ok()) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is not 1 to {} hexadecimal digits",
                    Shorten(hex_prefix, 100), 2 * Digest::kBytes));
  }
  return DigestRange{std::string(padded('0')->raw()),
                     std::string(padded('f')->raw())};
}

std::string AfterTarget(std::string target) {
  while (!target.empty() && target.back() == '\xFF') {
    target.pop_back();
  }
  if (!target.empty()) {
    ++target.back();
  }
  return target;
}

}  // namespace kiln::storage
