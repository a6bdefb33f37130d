// SPDX-License-Identifier: Apache-2.0
#include "client/cli/precompile_run.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/cli/await.h"
#include "client/cli/interrupt.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/limits.h"
#include "proto/program_facts.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "proto/variant_key.h"

namespace kiln::cli {
namespace {

using nlohmann::json;

// Below what the daemon reads ahead of one client (limits::kUnanswered).
constexpr size_t kMostInFlight = 2048;
// Sent at a time, so that the first compiles while the last is being sent.
constexpr size_t kBatch = 256;

std::string MessageOf(const absl::Status& status) {
  const absl::string_view text = status.message();
  return ToValidUtf8({text.data(), text.size()});
}

std::string CodeOf(uint32_t code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

}  // namespace

PrecompileRun::PrecompileRun(Output& output, client::RpcClient& rpc,
                             client::BlockingSession& session,
                             PrecompilePlan plan,
                             const PrecompileSettings& settings)
    : output_(output),
      rpc_(rpc),
      session_(session),
      plan_(std::move(plan)),
      settings_(settings),
      start_(std::chrono::steady_clock::now()) {}

absl::Status PrecompileRun::Run() {
  shaders_.total = plan_.shaders.size() + plan_.problems.size();
  for (const PlanProblem& problem : plan_.problems) {
    Failed({problem.path, {}, {}},
           {problem.path, MessageOf(problem.status), ""},
           CodeOf(static_cast<uint32_t>(problem.status.code())), shaders_);
  }
  std::vector<Item> items;
  KILN_RETURN_IF_ERROR(Register(items));
  KILN_RETURN_IF_ERROR(CompileShaders(items));
  return settings_.whole ? CompileVariants(items) : absl::OkStatus();
}

absl::Status PrecompileRun::Register(std::vector<Item>& items) {
  for (const PlannedShader& shader : plan_.shaders) {
    if (Interrupted()) {
      return absl::AbortedError("interrupted");
    }
    Show(shader.path);
    Item item{shader.path, {}, {}, &shader};
    const auto id = rpc_.RegisterProgram(shader.program);
    if (absl::IsInvalidArgument(id.status())) {
      Failed(item, {shader.path, MessageOf(id.status()), ""},
             CodeOf(static_cast<uint32_t>(id.status().code())), shaders_);
      continue;
    }
    KILN_ASSIGN_OR_RETURN(item.program, id);
    items.push_back(std::move(item));
  }
  return absl::OkStatus();
}

absl::Status PrecompileRun::CompileShaders(const std::vector<Item>& items) {
  std::vector<Digest> programs;
  for (const Item& item : items) {
    programs.push_back(item.program);
  }
  return CompileAll(items, shaders_, [&](size_t begin, size_t end) {
    return session_.SendShaders(std::span(programs).subspan(begin, end - begin),
                                {Urgency::kWarmUp});
  });
}

absl::Status PrecompileRun::CompileVariants(const std::vector<Item>& items) {
  std::set<std::string_view> failed;
  for (const Failure& failure : failures_) {
    failed.insert(failure.label);
  }
  std::vector<Item> variants;
  std::vector<VariantKey> keys;
  for (const Item& item : items) {
    const Program& program = item.planned->program;
    if (!item.planned->is_pipeline || program.IsShader() ||
        failed.contains(item.label)) {
      continue;
    }
    for (VariantKey& key : WholeKeys(program, item.program)) {
      variants.push_back(
          {KeyLabel(program, key), item.program, key, item.planned});
      keys.push_back(std::move(key));
    }
  }
  variants_.total = variants.size();
  return CompileAll(variants, variants_, [&](size_t begin, size_t end) {
    return session_.Send(std::span(keys).subspan(begin, end - begin),
                         {Urgency::kWarmUp});
  });
}

absl::Status PrecompileRun::CompileAll(const std::vector<Item>& items,
                                       Tally& tally, const Sender& send) {
  const size_t jobs = settings_.jobs == 0
                          ? kMostInFlight
                          : std::min(settings_.jobs, kMostInFlight);
  size_t sent = 0;
  size_t done = 0;
  std::string last;
  AwaitOptions await;
  await.first = session_.next_request_id();
  await.count = items.size();
  await.on_completion = [&](const v1::Completion& completion) {
    const Item& item = items[completion.request_id() - await.first];
    ++done;
    last = item.label;
    Completed(item, completion, tally);
  };
  await.on_tick = [&] { Show(last); };
  await.send_more = [&] {
    const size_t end = std::min(
        {items.size(), sent + kBatch, done + std::min(jobs, items.size())});
    const size_t begin = std::exchange(sent, std::max(sent, end));
    return begin < end ? send(begin, end) : absl::OkStatus();
  };
  return AwaitCompletions(session_, await);
}

void PrecompileRun::Completed(const Item& item,
                              const v1::Completion& completion, Tally& tally) {
  if (completion.state() != v1::STATE_READY) {
    const v1::Failure& failure = completion.failure();
    Failed(item, {item.label, failure.message(), failure.diagnostics()},
           CodeOf(failure.code()), tally);
    return;
  }
  const bool stored = completion.origin() == v1::ORIGIN_STORE;
  ++(stored ? tally.up_to_date : tally.compiled);
  if (output_.json()) {
    output_.Result({{"shader", item.label},
                    {"state", "ready"},
                    {"origin", stored ? "store" : "compiled"},
                    {"warnings", completion.front_end().warnings()}},
                   "");
  }
}

void PrecompileRun::Failed(const Item& item, Failure failure,
                           std::string_view code, Tally& tally) {
  ++tally.failed;
  failed_paths_.insert(item.planned == nullptr ? item.label
                                               : item.planned->path);
  if (output_.json()) {
    output_.Result({{"shader", item.label},
                    {"state", "failed"},
                    {"error", failure.message},
                    {"code", code},
                    {"diagnostics", failure.diagnostics}},
                   "");
  }
  failures_.push_back(std::move(failure));
}

void PrecompileRun::Show(const std::string& last) {
  const size_t total = shaders_.total + variants_.total;
  line_.Show(fmt::format(
      "{}{} {}",
      ProgressBar(total - shaders_.unfinished() - variants_.unfinished(),
                  total),
      failures_.empty() ? "" : fmt::format(" {} failed,", failures_.size()),
      ShownName(last)));
}

void PrecompileRun::PrintSummary(const std::string& roots, const json& facts) {
  line_.Clear();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_)
          .count();
  if (!failures_.empty() && !output_.json()) {
    output_.Result({}, fmt::format("{} of {} shaders failed:", failures_.size(),
                                   shaders_.total + variants_.total));
    for (const Failure& failure : failures_) {
      output_.Result(
          {}, fmt::format("  {}: {}", ShownName(failure.label),
                          OneLine(failure.message, limits::kStatusTextBytes)));
      output_.Details(failure.diagnostics);
    }
  }
  auto tally_json = [](const Tally& tally) {
    return json{{"total", tally.total},
                {"up_to_date", tally.up_to_date},
                {"compiled", tally.compiled},
                {"failed", tally.failed},
                {"unfinished", tally.unfinished()}};
  };
  auto tally_text = [](const Tally& tally) {
    return fmt::format(
        "{} up to date, {} compiled, {} failed{}", tally.up_to_date,
        tally.compiled, tally.failed,
        tally.unfinished() == 0
            ? ""
            : fmt::format(", {} unfinished", tally.unfinished()));
  };
  json object = tally_json(shaders_);
  object.update(facts);
  object["seconds"] = seconds;
  std::string text =
      fmt::format("{} shader{} of {}: {}", shaders_.total,
                  shaders_.total == 1 ? "" : "s", roots, tally_text(shaders_));
  if (settings_.whole) {
    object["whole"] = tally_json(variants_);
    text += fmt::format("; {} whole-shader variant{}: {}", variants_.total,
                        variants_.total == 1 ? "" : "s", tally_text(variants_));
  }
  output_.Result(object, fmt::format("{} in {:.1f} s", text, seconds));
}

}  // namespace kiln::cli
