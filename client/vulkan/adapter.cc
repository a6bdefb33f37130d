// SPDX-License-Identifier: Apache-2.0
#include "client/vulkan/adapter.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "proto/text.h"

namespace kiln::client {
namespace {

constexpr bool Same(HitFeedback a, pipeline::HitFeedback b) {
  return static_cast<int>(a) == static_cast<int>(b);
}

static_assert(Same(HitFeedback::kCacheHit, pipeline::HitFeedback::kCacheHit));
static_assert(Same(HitFeedback::kCreatedWithoutHit,
                   pipeline::HitFeedback::kCreatedWithoutHit));
static_assert(Same(HitFeedback::kCompileRequired,
                   pipeline::HitFeedback::kCompileRequired));

// Enough of a value to tell two apart; feature lists are long.
constexpr size_t kValueBytes = 80;

// "driver_version: compiled for 0x1, this device has 0x2; ..."
std::string Differences(const TargetIdentity& wanted,
                        const TargetIdentity& actual) {
  std::map<std::string, std::pair<std::string, std::string>> fields;
  for (const IdentityField& field : wanted.fields) {
    fields[field.name].first = field.value;
  }
  for (const IdentityField& field : actual.fields) {
    fields[field.name].second = field.value;
  }
  std::string text;
  for (const auto& [name, values] : fields) {
    if (values.first != values.second) {
      text += fmt::format("{}{}: compiled for '{}', this device has '{}'",
                          text.empty() ? "" : "; ", name,
                          Shorten(values.first, kValueBytes),
                          Shorten(values.second, kValueBytes));
    }
  }
  return text.empty() ? "the fields compared are equal" : text;
}

}  // namespace

absl::StatusOr<pipeline::CreatedPipeline> CreatePipeline(
    const Program& program, const ReadyVariant& variant,
    pipeline::Device& device) {
  const Artifact& artifact = variant.artifact;
  if (artifact.target != device.identity().Id()) {
    return absl::FailedPreconditionError(
        fmt::format("variant {}: made for another device: {}", variant.label,
                    variant.target == nullptr
                        ? fmt::format("target {}", artifact.target.ShortHex())
                        : Differences(*variant.target, device.identity())));
  }
  // Also finds a key that is not of this program: CreateFromBlob relies on it.
  absl::StatusOr<VariantKey> normal = NormaliseKey(program, artifact.key);
  if (!normal.ok() || *normal != artifact.key) {
    return absl::InvalidArgumentError(fmt::format(
        "variant {}: is not one of program {}", variant.label, program.name));
  }
  std::vector<pipeline::StageCode> code;
  for (const ModuleCode& module : variant.modules) {
    code.push_back({module.stage, *module.spirv});
  }
  return pipeline::CreateFromBlob(
      device, {program, artifact.key, code, artifact.specialized},
      artifact.blob);
}

HitFeedback ToFeedback(pipeline::HitFeedback feedback) {
  return static_cast<HitFeedback>(feedback);
}

}  // namespace kiln::client
