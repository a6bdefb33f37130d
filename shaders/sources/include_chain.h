// SPDX-License-Identifier: Apache-2.0
#pragma once

// How a chain of includes is shown to people.

#include <string>
#include <string_view>
#include <vector>

namespace kiln::sources {

// "a -> b -> c"; a long chain is cut in the middle.
std::string DescribeChain(std::vector<std::string_view> chain);

}  // namespace kiln::sources
