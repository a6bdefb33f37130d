// SPDX-License-Identifier: Apache-2.0
#include "client/demo/demonstration.h"

#include <signal.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/demo/child.h"
#include "client/rpc.h"
#include "kiln/v1/kiln.pb.h"
#include "proto/status_macros.h"

namespace kiln::demo {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kEngineDeadline{180};
constexpr seconds kDaemonDeadline{20};

// What both engines reported in one round.
struct Round {
  std::vector<Json> variants;  // "variant" lines of both
  Json whole;                  // costs of the whole-shader set, by axes
  std::vector<Json> done;      // "done" lines
  std::map<std::string, uint64_t> counters;
};

class Demonstration {
 public:
  explicit Demonstration(const DemonstrationOptions& options)
      : options_(options), socket_((options.folder / "kilnd.sock").string()) {}

  absl::Status Run() {
    Say(fmt::format(
        "Starting kilnd for {}, then a game and an editor that share it.",
        options_.target));
    KILN_ASSIGN_OR_RETURN(const Round first, PlayRound());
    PrintTable(first);
    CheckFirst(first);
    Say("\nRestarting the daemon on the same state folder; both engines ask "
        "again.");
    KILN_ASSIGN_OR_RETURN(const Round second, PlayRound());
    CheckSecond(first, second);
    Print({{"event", "verdict"}, {"ok", failure_.ok()}});
    return failure_;
  }

 private:
  void Say(std::string_view text) {
    if (!options_.json) {
      std::cout << text << std::endl;
    }
  }

  void Print(const Json& line) {
    if (options_.json) {
      std::cout << line.dump() << std::endl;
    }
  }

  // Starts the daemon, lets both engines run to their end, stops the daemon.
  absl::StatusOr<Round> PlayRound() {
    const ChildOptions daemon_options{
        {"--socket", socket_, "--state", (options_.folder / "state").string(),
         "--warm-target", options_.target},
        {},
        (options_.folder / "kilnd.log").string()};
    KILN_ASSIGN_OR_RETURN(
        auto daemon,
        Child::Start((options_.binaries / "kilnd").string(), daemon_options));
    KILN_RETURN_IF_ERROR(WaitForDaemon());
    KILN_ASSIGN_OR_RETURN(auto game, StartEngine("game", false));
    KILN_ASSIGN_OR_RETURN(auto editor, StartEngine("editor", true));
    Round round;
    KILN_RETURN_IF_ERROR(Collect("game", *game, round));
    KILN_RETURN_IF_ERROR(Collect("editor", *editor, round));
    KILN_ASSIGN_OR_RETURN(round.counters, FetchCounters());
    daemon->Signal(SIGTERM);
    KILN_ASSIGN_OR_RETURN(const int code, daemon->Wait(kDaemonDeadline));
    if (code != 0) {
      return absl::InternalError(
          fmt::format("kilnd ended with {}; its log is {}", code,
                      daemon_options.stderr_file));
    }
    return round;
  }

  absl::StatusOr<std::unique_ptr<Child>> StartEngine(const std::string& role,
                                                     bool reverse) {
    ChildOptions engine{
        {"--role", role, "--socket", socket_, "--target", options_.target,
         "--program", options_.program.string()},
        {},
        (options_.folder / (role + ".log")).string()};
    if (reverse) {
      engine.arguments.emplace_back("--reverse");
    }
    return Child::Start((options_.binaries / "kiln-demo-engine").string(),
                        engine);
  }

  absl::Status WaitForDaemon() {
    const auto deadline = std::chrono::steady_clock::now() + kDaemonDeadline;
    while (true) {
      const auto counters = FetchCounters();
      if (counters.ok() || std::chrono::steady_clock::now() > deadline) {
        return counters.status();
      }
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

  absl::StatusOr<std::map<std::string, uint64_t>> FetchCounters() {
    KILN_ASSIGN_OR_RETURN(auto rpc,
                          client::RpcClient::Create(
                              {.socket = socket_, .client_name = "kiln-demo"}));
    KILN_ASSIGN_OR_RETURN(const v1::GetStatusResponse status, rpc->GetStatus());
    return std::map<std::string, uint64_t>(status.counters().begin(),
                                           status.counters().end());
  }

  absl::Status Collect(const std::string& role, Child& engine, Round& round) {
    KILN_ASSIGN_OR_RETURN(const int code, engine.Wait(kEngineDeadline));
    // The pipe may hold lines that were written just before the end.
    engine.WaitForLine(
        [](const std::string& line) {
          return line.find("\"done\"") != line.npos;
        },
        seconds(2));
    if (code != 0) {
      return absl::InternalError(
          fmt::format("{} ended with {}; its log is in {}", role, code,
                      options_.folder.string()));
    }
    for (const std::string& text : engine.lines()) {
      const Json line = Json::parse(text, nullptr, false);
      const std::string event = line.is_object() ? line.value("event", "") : "";
      if (event == "variant") {
        round.variants.push_back(line);
        Print(line);
      } else if (event == "loaded") {
        round.whole = line["whole"];
      } else if (event == "done") {
        round.done.push_back(line);
        Print(line);
      }
    }
    return absl::OkStatus();
  }

  static std::string Number(const Json& json, const char* name) {
    return json.contains(name) ? json[name].dump() : "-";
  }

  void PrintTable(const Round& round) {
    if (options_.json) {
      return;
    }
    std::map<std::string, std::map<std::string, const Json*>>
        by_key;  // key -> role -> line
    for (const Json& line : round.variants) {
      by_key[line["key"]][line["role"]] = &line;
    }
    std::cout << fmt::format(
        "\n{:<58} {:<7} {:>8} {:>13} {:>13} {:>11} {:>8}\n", "variant", "first",
        "compile", "frames whole", "registers", "waves", "driver");
    std::cout << fmt::format("{:<58} {:<7} {:>8} {:>13} {:>13} {:>11} {:>8}\n",
                             "", "asker", "ms", "game/editor", "whole>own",
                             "whole>own", "says");
    for (const auto& [key, roles] : by_key) {
      if (roles.size() != 2) {
        continue;
      }
      const Json& game = *roles.at("game");
      const Json& editor = *roles.at("editor");
      const bool game_first = game["asked_at_us"] < editor["asked_at_us"];
      const Json whole =
          round.whole.value(game["axes"].get<std::string>(), Json::object());
      std::cout << fmt::format(
          "{:<58} {:<7} {:>8.1f} {:>13} {:>13} {:>11} {:>8}\n",
          game["label"].get<std::string>(), game_first ? "game" : "editor",
          game["compile_ms"].get<double>(),
          fmt::format("{}/{}", Number(game, "frames_on_whole"),
                      Number(editor, "frames_on_whole")),
          fmt::format("{}>{}", Number(whole, "registers"),
                      Number(game, "registers")),
          fmt::format("{}>{}", Number(whole, "waves"), Number(game, "waves")),
          game["feedback"] == "cache hit" && editor["feedback"] == "cache hit"
              ? "hit/hit"
              : "MISS");
    }
  }

  void Check(bool holds, const std::string& claim) {
    Say(fmt::format("  [{}] {}", holds ? "ok" : "FAILED", claim));
    Print({{"event", "claim"}, {"ok", holds}, {"claim", claim}});
    if (!holds && failure_.ok()) {
      failure_ =
          absl::FailedPreconditionError(fmt::format("not so: {}", claim));
    }
  }

  static std::set<std::string> Keys(const Round& round,
                                    const std::string& role) {
    std::set<std::string> keys;
    for (const Json& line : round.variants) {
      if (line["role"] == role) {
        keys.insert(line["key"]);
      }
    }
    return keys;
  }

  static bool AllHit(const Round& round) {
    return std::ranges::all_of(round.variants, [](const Json& line) {
      return line["feedback"] == "cache hit";
    });
  }

  void CheckShared(const Round& round) {
    const std::set<std::string> game = Keys(round, "game");
    Check(game.size() >= 12 && game == Keys(round, "editor"),
          fmt::format("game and editor swapped in the same {} variants",
                      game.size()));
    Check(
        AllHit(round),
        "every variant's pipeline was a cache hit in each engine's own driver");
    Check(round.counters.at("feedback_misses") == 0,
          "no driver reported a miss to the daemon");
  }

  void CheckFirst(const Round& round) {
    Say("");
    CheckShared(round);
    const uint64_t distinct = Keys(round, "game").size() + round.whole.size();
    Check(round.counters.at("compiles_started") == distinct &&
              round.counters.at("compiles_finished") == distinct,
          fmt::format("{} requests of two processes for {} distinct keys made "
                      "{} compiles",
                      round.counters.at("requests"), distinct,
                      round.counters.at("compiles_started")));
    Check(round.counters.at("proofs_proven") == distinct,
          "the daemon proved each of them to hit on a second device before it "
          "announced it");
    const bool drew_whole = std::ranges::all_of(
        round.variants,
        [](const Json& line) { return line["frames_on_whole"] >= 1; });
    Check(
        drew_whole,
        "every surface was drawn with the whole shader until its variant came");
  }

  void CheckSecond(const Round& first, const Round& second) {
    CheckShared(second);
    Check(Keys(first, "game") == Keys(second, "game"),
          "the same set was served again");
    Check(second.counters.at("compiles_started") == 0, "with no compile");
    Check(std::ranges::all_of(
              second.variants,
              [](const Json& line) { return line["origin"] == "store"; }),
          "every variant came from the store");
  }

  const DemonstrationOptions& options_;
  const std::string socket_;
  absl::Status failure_;
};

}  // namespace

absl::Status RunDemonstration(const DemonstrationOptions& options) {
  return Demonstration(options).Run();
}

}  // namespace kiln::demo
