// SPDX-License-Identifier: Apache-2.0
#include "client/cli/variant_json.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

std::string_view ProofWord(v1::Proof proof) {
  switch (proof) {
    case v1::PROOF_PROVEN:
      return "proven";
    case v1::PROOF_NOT_PROVABLE:
      return "not_provable";
    case v1::PROOF_REFUSED:
      return "refused";
    default:
      return "unknown";
  }
}

std::string_view StateWord(v1::State state) {
  switch (state) {
    case v1::STATE_READY:
      return "ready";
    case v1::STATE_REJECTED:
      return "rejected";
    default:
      return "failed";
  }
}

std::string_view OriginWord(v1::Origin origin) {
  return origin == v1::ORIGIN_STORE ? "store" : "compiled";
}

double Milliseconds(uint64_t microseconds) {
  return static_cast<double>(microseconds) / 1000.0;
}

json AskedJson(const Asked& asked, std::string_view state) {
  json object = {
      {"target", asked.target.Hex()}, {"label", asked.label}, {"state", state}};
  if (!asked.living) {
    object["key"] = asked.key.Hex();
  }
  return object;
}

}  // namespace

json ConstantJson(ConstantType type, uint64_t value) {
  if (!IsConstantType(static_cast<uint8_t>(type))) {
    return value;
  }
  // Readers keep numbers as doubles: what those cannot hold stays text.
  const std::string text = FormatConstant(type, value);
  const json number = json::parse(text, nullptr, false);
  const bool exact = !number.is_discarded() &&
                     (!number.is_number_integer() ||
                      std::fabs(number.get<double>()) <= 9007199254740992.0);
  return exact ? number : json(text);
}

json VariantJson(const v1::Variant& variant) {
  json object = {{"key", absl::BytesToHexString(variant.key_id())},
                 {"target", absl::BytesToHexString(variant.target())},
                 {"program", absl::BytesToHexString(variant.program_id())},
                 {"label", variant.label()},
                 {"kind", variant.kind()},
                 {"backdrop", variant.backdrop()},
                 {"blend", variant.blend()},
                 {"features", variant.features()},
                 {"compile_ms", Milliseconds(variant.compile_us())},
                 {"blob_bytes", variant.blob_bytes()},
                 {"proof", ProofWord(variant.proof())}};
  object["overrides"] = json::object();
  for (const v1::OverrideValue& entry : variant.overrides()) {
    object["overrides"][entry.name()] =
        ConstantJson(static_cast<ConstantType>(entry.type()), entry.value());
  }
  auto set = [&object](const char* name, bool present, uint32_t value) {
    if (present) {
      object[name] = value;
    }
  };
  set("registers", variant.has_registers(), variant.registers());
  set("waves", variant.has_waves(), variant.waves());
  set("instructions", variant.has_instructions(), variant.instructions());
  set("spills", variant.has_spills(), variant.spills());
  set("code_bytes", variant.has_code_bytes(), variant.code_bytes());
  return object;
}

std::string VariantText(const v1::Variant& variant) {
  std::string text =
      fmt::format("{:.1f} ms, {:.1f} KB", Milliseconds(variant.compile_us()),
                  static_cast<double>(variant.blob_bytes()) / 1024.0);
  if (variant.has_registers()) {
    text += fmt::format(", {} registers", variant.registers());
  }
  if (variant.has_waves()) {
    text += fmt::format(", {} waves", variant.waves());
  }
  return fmt::format("{}, {}", text, ProofWord(variant.proof()));
}

json CompletionJson(const Asked& asked, const v1::Completion& completion) {
  json object = AskedJson(asked, StateWord(completion.state()));
  if (completion.state() == v1::STATE_READY) {
    object["origin"] = OriginWord(completion.origin());
    object.update(VariantJson(completion.variant()));
    return object;
  }
  const v1::Failure& failure = completion.failure();
  object["error"] = failure.message();
  object["code"] =
      absl::StatusCodeToString(static_cast<absl::StatusCode>(failure.code()));
  object["diagnostics"] = failure.diagnostics();
  return object;
}

std::string CompletionText(const Asked& asked,
                           const v1::Completion& completion) {
  if (completion.state() == v1::STATE_READY) {
    const v1::Variant& variant = completion.variant();
    const std::string key = absl::BytesToHexString(variant.key_id());
    return fmt::format("{:<8} {} {}: {}, {}{}", StateWord(completion.state()),
                       key.substr(0, asked.key.ShortHex().size()),
                       variant.label(), OriginWord(completion.origin()),
                       VariantText(variant),
                       asked.living || key == asked.key.Hex()
                           ? ""
                           : "; no code reads the other overrides asked for");
  }
  return fmt::format("{:<8} {}: {}", StateWord(completion.state()),
                     AskedText(asked), completion.failure().message());
}

std::string AskedText(const Asked& asked) {
  return asked.living ? asked.label
                      : fmt::format("{} {}", asked.key.ShortHex(), asked.label);
}

json PendingJson(const Asked& asked) {
  return AskedJson(asked, "pending");
}

}  // namespace kiln::cli
