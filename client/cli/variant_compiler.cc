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
  const uint64_t first = session_.next_request_id();
  StatusLine line;
  size_t done = 0;
  std::string last;
  auto show = [&] {
    line.Show(fmt::format("{} {}", ProgressBar(done, keys.size()), last));
  };
  show();
  KILN_RETURN_IF_ERROR(session_.Send(keys));
  AwaitOptions await;
  await.first = first;
  await.count = keys.size();
  await.on_completion = [&](const v1::Completion& completion) {
    const uint64_t index = completion.request_id() - first;
    last = KeyLabel(program_, keys[index]);
    completions[index] = completion;
    ++done;
  };
  await.on_tick = show;
  KILN_RETURN_IF_ERROR(AwaitCompletions(session_, await));
  return completions;
}

absl::StatusOr<v1::Completion> CompileFrontEnd(client::BlockingSession& session,
                                               const Digest& program,
                                               const std::string& label) {
  StatusLine line;
  size_t tick = 0;
  v1::Completion result;
  AwaitOptions await;
  await.first = session.next_request_id();
  await.count = 1;
  await.on_completion = [&](const v1::Completion& completion) {
    result = completion;
  };
  await.on_tick = [&] {
    line.Show(fmt::format("{} {}", SpinnerFrame(tick++), label));
  };
  KILN_RETURN_IF_ERROR(session.SendShaders({&program, 1}));
  KILN_RETURN_IF_ERROR(AwaitCompletions(session, await));
  return result;
}

absl::StatusOr<std::vector<VariantKey>> StoredKeys(
    client::RpcClient& rpc, client::BlockingSession& session,
    const LoadedProgram& program) {
  std::string stored_as(program.id.raw());
  if (program.program.IsLiving()) {
    KILN_ASSIGN_OR_RETURN(
        const v1::Completion completion,
        CompileFrontEnd(session, program.id, program.program.name));
    stored_as = completion.front_end().program_id();  // none if it failed
  }
  std::vector<VariantKey> keys;
  std::string page_token;
  do {
    KILN_ASSIGN_OR_RETURN(const auto page, rpc.ListVariants(page_token));
    for (const v1::Variant& variant : page.variants()) {
      if (variant.program_id() != stored_as ||
          variant.target() != session.session().target.raw()) {
        continue;
      }
      KILN_ASSIGN_OR_RETURN(VariantKey key, wire::KeyFromWire(variant));
      key.program = program.id;  // by which it is asked for
      keys.push_back(std::move(key));
    }
    page_token = page.next_page_token();
  } while (!page_token.empty());
  return keys;
}

}  // namespace kiln::cli
