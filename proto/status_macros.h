// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two control-flow macros of the code base. absl 20220623 has none of its
// own. Not for anything else: every other branch is spelled out.

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define KILN_STATUS_CONCAT_INNER(a, b) a##b
#define KILN_STATUS_CONCAT(a, b) KILN_STATUS_CONCAT_INNER(a, b)

// Evaluates `expr` (an absl::Status) and returns it from the enclosing
// function if it is not OK.
#define KILN_RETURN_IF_ERROR(expr)                              \
  do {                                                          \
    if (absl::Status kiln_status = (expr); !kiln_status.ok()) { \
      return kiln_status;                                       \
    }                                                           \
  } while (false)

// Evaluates `expr` (an absl::StatusOr<T>); returns its status if it is not OK,
// else moves the value into `lhs`, which may be a declaration.
#define KILN_ASSIGN_OR_RETURN(lhs, expr) \
  KILN_ASSIGN_OR_RETURN_IMPL(KILN_STATUS_CONCAT(kiln_or_, __LINE__), lhs, expr)
#define KILN_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  if (!tmp.ok()) {                                 \
    return std::move(tmp).status();                \
  }                                                \
  lhs = std::move(tmp).value()
