// SPDX-License-Identifier: Apache-2.0
#include "client/cli/variant_compiler.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "client/cli/await.h"
#include "client/cli/progress.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/status_macros.h"
#include "proto/wire.h"

namespace kiln::cli {

absl::StatusOr<std::vector<v1::Completion>> VariantCompiler::Compile(
    std::span<const VariantKey> keys) {
  std::vector<v1::Completion> completions(keys.size());
  if (keys.empty()) {
    return completions;
  }
  const uint64_t first = std::exchange(sent_, sent_ + keys.size());
  StatusLine line;
  size_t done = 0;
  std::string last;
  auto show = [&] {
    line.Show(fmt::format("{} {}", ProgressBar(done, keys.size()), last));
  };
  show();
  KILN_RETURN_IF_ERROR(session_.Send(keys));
  AwaitOptions await;
  await.count = keys.size();
  await.on_completion = [&](const v1::Completion& completion) {
    const uint64_t index = completion.request_id() - first;
    if (index < keys.size()) {
      last = KeyLabel(program_, keys[index]);
      completions[index] = completion;
    }
    ++done;
  };
  await.on_tick = show;
  KILN_RETURN_IF_ERROR(AwaitCompletions(session_, await));
  return completions;
}

absl::StatusOr<std::vector<VariantKey>> StoredKeys(client::RpcClient& rpc,
                                                   const Digest& program_id,
                                                   const Digest& target) {
  std::vector<VariantKey> keys;
  std::string page_token;
  do {
    KILN_ASSIGN_OR_RETURN(const auto page, rpc.ListVariants(page_token));
    for (const v1::Variant& variant : page.variants()) {
      if (variant.program_id() != program_id.raw() ||
          variant.target() != target.raw()) {
        continue;
      }
      KILN_ASSIGN_OR_RETURN(VariantKey key, wire::KeyFromWire(variant));
      keys.push_back(std::move(key));
    }
    page_token = page.next_page_token();
  } while (!page_token.empty());
  return keys;
}

}  // namespace kiln::cli
