// SPDX-License-Identifier: Apache-2.0
#include "proto/target.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "proto/canonical.h"
#include "proto/limits.h"
#include "proto/text.h"

namespace kiln {
namespace {

bool IsFamily(std::string_view text) {
  auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  };
  return !text.empty() && text.size() <= 32 &&
         std::ranges::all_of(text, allowed);
}

}  // namespace

absl::StatusOr<TargetSpec> TargetSpec::Parse(std::string_view text) {
  constexpr std::string_view kRadv = "radv:";
  constexpr std::string_view kFake = "fake:";
  constexpr std::string_view kGpu = "gpu:";
  if (text == "lavapipe") {
    return TargetSpec{Driver::kLavapipe, "", 0};
  }
  if (text.starts_with(kRadv) && IsFamily(text.substr(kRadv.size()))) {
    return TargetSpec{Driver::kRadvNull, std::string(text.substr(kRadv.size())),
                      0};
  }
  if (text.starts_with(kFake) && IsFamily(text.substr(kFake.size()))) {
    return TargetSpec{Driver::kFake, std::string(text.substr(kFake.size())), 0};
  }
  if (text.starts_with(kGpu)) {
    std::string_view digits = text.substr(kGpu.size());
    uint32_t index = 0;
    auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc() && end == digits.data() + digits.size() &&
        digits == std::to_string(index)) {
      return TargetSpec{Driver::kGpu, "", index};
    }
  }
  return absl::InvalidArgumentError(fmt::format(
      "unknown target '{}'; a target is radv:<family> (e.g. {}), lavapipe or "
      "gpu:<index>",
      Shorten(text, 100), kDefaultTarget));
}

std::string TargetSpec::ToString() const {
  switch (driver) {
    case Driver::kRadvNull:
      return "radv:" + family;
    case Driver::kLavapipe:
      return "lavapipe";
    case Driver::kFake:
      return "fake:" + family;
    case Driver::kGpu:
      return fmt::format("gpu:{}", index);
  }
  return "unknown";
}

Digest TargetIdentity::Id() const {
  CanonicalWriter out;
  out.Sequence(fields, [&](const IdentityField& field) {
    out.Text(field.name);
    out.Text(field.value);
  });
  return Digest::Of(out.bytes());
}

}  // namespace kiln
