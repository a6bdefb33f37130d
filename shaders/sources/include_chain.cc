// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/include_chain.h"

#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::sources {
namespace {

constexpr size_t kChainShown = 16;

}  // namespace

std::string DescribeChain(std::vector<std::string_view> chain) {
  if (chain.size() > kChainShown) {
    constexpr auto kHalf = static_cast<ptrdiff_t>(kChainShown / 2);
    chain.erase(chain.begin() + kHalf, chain.end() - kHalf);
    chain.insert(chain.begin() + kHalf, "...");
  }
  return fmt::format("{}", fmt::join(chain, " -> "));
}

}  // namespace kiln::sources
