// SPDX-License-Identifier: Apache-2.0
#pragma once

// GoogleTest words for absl::Status and absl::StatusOr, which absl 20220623
// does not bring itself.
//
//   ASSERT_OK(store->Sync());
//   ASSERT_OK_AND_ASSIGN(auto found, store->GetProgram(id));
//   EXPECT_THAT(Parse("x"), StatusIs(absl::StatusCode::kInvalidArgument,
//   HasSubstr("x"))); EXPECT_THAT(Parse("x"),
//   StatusIs(absl::StatusCode::kInvalidArgument, "x"));  // the same

#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/status_macros.h"

namespace kiln::testing {

// What most tests of bad input expect.
inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}

template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// Matches a Status or StatusOr by code and message. Thread-compatible.
class StatusIsMatcher {
 public:
  StatusIsMatcher(absl::StatusCode code,
                  ::testing::Matcher<std::string> message)
      : code_(code), message_(std::move(message)) {}

  template <typename T>
  bool MatchAndExplain(const T& actual,
                       ::testing::MatchResultListener* listener) const {
    const absl::Status& status = StatusOf(actual);
    *listener << "which is " << status;
    return status.code() == code_ &&
           message_.Matches(std::string(status.message()));
  }

  void DescribeTo(std::ostream* out) const {
    *out << "is " << absl::StatusCodeToString(code_) << " with a message that ";
    message_.DescribeTo(out);
  }

  void DescribeNegationTo(std::ostream* out) const {
    *out << "is not " << absl::StatusCodeToString(code_)
         << " with a message that ";
    message_.DescribeTo(out);
  }

 private:
  absl::StatusCode code_;
  ::testing::Matcher<std::string> message_;
};

inline auto StatusIs(absl::StatusCode code) {
  return ::testing::MakePolymorphicMatcher(
      StatusIsMatcher(code, ::testing::A<std::string>()));
}

// `message` is a matcher, or text that the message must contain.
template <typename Message>
auto StatusIs(absl::StatusCode code, Message message) {
  if constexpr (std::is_convertible_v<Message, std::string>) {
    return ::testing::MakePolymorphicMatcher(
        StatusIsMatcher(code, ::testing::HasSubstr(std::string(message))));
  } else {
    return ::testing::MakePolymorphicMatcher(StatusIsMatcher(
        code, ::testing::SafeMatcherCast<std::string>(message)));
  }
}

inline auto IsOk() {
  return StatusIs(absl::StatusCode::kOk);
}

}  // namespace kiln::testing

#define EXPECT_OK(expr) EXPECT_THAT((expr), ::kiln::testing::IsOk())
#define ASSERT_OK(expr) ASSERT_THAT((expr), ::kiln::testing::IsOk())

// Fails the test unless `expr`, a StatusOr, is OK; then moves its value into
// `lhs`, which may be a declaration.
#define ASSERT_OK_AND_ASSIGN(lhs, expr)                                       \
  KILN_ASSERT_OK_AND_ASSIGN_IMPL(KILN_STATUS_CONCAT(kiln_or_, __LINE__), lhs, \
                                 expr)
#define KILN_ASSERT_OK_AND_ASSIGN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                   \
  ASSERT_OK(tmp);                                      \
  lhs = std::move(tmp).value()
