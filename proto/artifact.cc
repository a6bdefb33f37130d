// SPDX-License-Identifier: Apache-2.0
#include "proto/artifact.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/status_macros.h"

namespace kiln {
namespace {

// "KAR" and the format version.
constexpr uint32_t kArtifactMagic = 0x0352414B;
constexpr uint32_t kMaxStatistics = 4096;

// Every optional field of VariantCost, in the order of the format.
template <typename Cost, typename Each>
void ForEachCost(Cost& cost, Each each) {
  each(cost.registers);
  each(cost.waves);
  each(cost.instructions);
  each(cost.spills);
  each(cost.code_bytes);
}

}  // namespace

std::string_view ProofText(Proof proof) {
  switch (proof) {
    case Proof::kProven:
      return "proven";
    case Proof::kNotProvable:
      return "not provable";
    case Proof::kRefused:
      return "refused";
  }
  return "unknown";
}

Bytes EncodeArtifact(const Artifact& artifact) {
  CanonicalWriter out;
  out.U32(kArtifactMagic);
  out.Id(artifact.target);
  out.Blob(EncodeKey(artifact.key));
  out.Sequence(artifact.modules, [&](const StageModule& module) {
    out.U8(static_cast<uint8_t>(module.stage));
    out.Id(module.module);
  });
  out.Sequence(artifact.constants,
               [&](const Constant& constant) { WriteConstant(out, constant); });
  out.U8(artifact.specialized ? 1 : 0);
  out.Blob(artifact.blob);
  out.U8(static_cast<uint8_t>(artifact.proof));
  out.U64(artifact.compile_us);
  ForEachCost(artifact.cost, [&](const std::optional<uint32_t>& field) {
    out.U8(field.has_value() ? 1 : 0);
    out.U32(field.value_or(0));
  });
  out.Sequence(artifact.statistics, [&](const Statistic& statistic) {
    out.Text(statistic.executable);
    out.Text(statistic.name);
    out.U64(std::bit_cast<uint64_t>(statistic.value));
  });
  out.Text(artifact.provenance);
  return std::move(out).Take();
}

absl::StatusOr<Artifact> DecodeArtifact(ByteView bytes) {
  CanonicalReader in(bytes);
  if (const uint32_t magic = in.U32(); magic != kArtifactMagic) {
    return absl::InvalidArgumentError(fmt::format(
        "artifact: magic is {:#x}, not {:#x}", magic, kArtifactMagic));
  }
  Artifact artifact;
  artifact.target = in.Id();
  KILN_ASSIGN_OR_RETURN(artifact.key, DecodeKey(in.Blob()));
  in.Sequence(limits::kSmallList, [&] {
    const auto stage = static_cast<Stage>(in.U8());
    artifact.modules.push_back({stage, in.Id()});
  });
  in.Sequence(limits::kSmallList,
              [&] { artifact.constants.push_back(ReadConstant(in)); });
  artifact.specialized = in.U8() != 0;
  artifact.blob = in.Blob();
  artifact.proof = static_cast<Proof>(in.U8());
  artifact.compile_us = in.U64();
  ForEachCost(artifact.cost, [&](std::optional<uint32_t>& field) {
    const bool present = in.U8() != 0;
    const uint32_t value = in.U32();
    field = present ? std::optional(value) : std::nullopt;
  });
  in.Sequence(kMaxStatistics, [&] {
    Statistic& statistic = artifact.statistics.emplace_back();
    statistic.executable = in.Text();
    statistic.name = in.Text();
    statistic.value = std::bit_cast<double>(in.U64());
  });
  artifact.provenance = in.Text();
  KILN_RETURN_IF_ERROR(in.Finish("artifact"));
  const bool stages_known =
      std::ranges::all_of(artifact.modules, [](const StageModule& module) {
        return StageName(module.stage) != "unknown";
      });
  const bool types_known =
      std::ranges::all_of(artifact.constants, [](const Constant& constant) {
        return IsConstantType(static_cast<uint8_t>(constant.type));
      });
  if (!stages_known || !types_known || ProofText(artifact.proof) == "unknown") {
    return absl::InvalidArgumentError(
        "artifact: unknown stage, constant type or proof");
  }
  return artifact;
}

}  // namespace kiln
