// SPDX-License-Identifier: Apache-2.0
#include "client/demo/rounds.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/demo/event_tail.h"
#include "proto/status_macros.h"

namespace kiln::demo {
namespace {

using Json = nlohmann::json;

// What both engines reported in one round.
struct Round {
  std::vector<Json> variants;  // "variant" lines of both
  Json whole;                  // costs of the whole-shader set, by axes
  std::map<std::string, uint64_t> counters;
};

class Rounds {
 public:
  Rounds(const DemonstrationOptions& options, const Cast& cast,
         Narrator& narrator)
      : options_(options), cast_(cast), narrator_(narrator) {}

  absl::Status Play() {
    narrator_.Say(
        fmt::format("Starting kilnd for {} with a copy of the scene as its "
                    "search root, then "
                    "a game and an editor that share it.",
                    options_.target));
    KILN_ASSIGN_OR_RETURN(const Round first, PlayRound());
    PrintTable(first);
    CheckFirst(first);
    narrator_.Say(
        "\nRestarting the daemon on the same state folder; both engines ask "
        "again.");
    KILN_ASSIGN_OR_RETURN(const Round second, PlayRound());
    CheckSecond(first, second);
    return absl::OkStatus();
  }

 private:
  // Starts the daemon, lets both engines run to their end, stops the daemon.
  absl::StatusOr<Round> PlayRound() {
    KILN_ASSIGN_OR_RETURN(auto daemon, cast_.StartDaemon());
    KILN_ASSIGN_OR_RETURN(auto game, cast_.StartEngine("game", {"--rooted"}));
    KILN_ASSIGN_OR_RETURN(
        auto editor, cast_.StartEngine("editor", {"--rooted", "--reverse"}));
    Round round;
    KILN_RETURN_IF_ERROR(Collect("game", *game, round));
    KILN_RETURN_IF_ERROR(Collect("editor", *editor, round));
    KILN_ASSIGN_OR_RETURN(round.counters, cast_.Counters());
    KILN_RETURN_IF_ERROR(cast_.StopDaemon(*daemon));
    return round;
  }

  absl::Status Collect(const std::string& role, Child& engine, Round& round) {
    KILN_RETURN_IF_ERROR(cast_.AwaitEnd(role, engine));
    const EventTail tail = EventTail::FromStart(engine);
    for (const Json& line : tail.Of("variant")) {
      narrator_.Print(line);
      round.variants.push_back(line);
    }
    for (const Json& line : tail.Of("loaded")) {
      round.whole = line["whole"];
    }
    for (const Json& line : tail.Of("done")) {
      narrator_.Print(line);
    }
    return absl::OkStatus();
  }

  static std::string Number(const Json& json, const char* name) {
    return json.contains(name) ? json[name].dump() : "-";
  }

  void PrintTable(const Round& round) {
    std::map<std::string, std::map<std::string, const Json*>>
        by_key;  // key -> role -> line
    for (const Json& line : round.variants) {
      by_key[line["key"]][line["role"]] = &line;
    }
    narrator_.Say(fmt::format("\n{:<58} {:<7} {:>8} {:>13} {:>13} {:>11} {:>8}",
                              "variant", "first", "compile", "frames whole",
                              "registers", "waves", "driver"));
    narrator_.Say(fmt::format("{:<58} {:<7} {:>8} {:>13} {:>13} {:>11} {:>8}",
                              "", "asker", "ms", "game/editor", "whole>own",
                              "whole>own", "says"));
    for (const auto& [key, roles] : by_key) {
      if (roles.size() != 2) {
        continue;
      }
      const Json& game = *roles.at("game");
      const Json& editor = *roles.at("editor");
      const bool game_first = game["asked_at_us"] < editor["asked_at_us"];
      const Json whole =
          round.whole.value(game["axes"].get<std::string>(), Json::object());
      narrator_.Say(fmt::format(
          "{:<58} {:<7} {:>8.1f} {:>13} {:>13} {:>11} {:>8}",
          game["label"].get<std::string>(), game_first ? "game" : "editor",
          game["compile_ms"].get<double>(),
          fmt::format("{}/{}", Number(game, "frames_on_whole"),
                      Number(editor, "frames_on_whole")),
          fmt::format("{}>{}", Number(whole, "registers"),
                      Number(game, "registers")),
          fmt::format("{}>{}", Number(whole, "waves"), Number(game, "waves")),
          game["feedback"] == "cache hit" && editor["feedback"] == "cache hit"
              ? "hit/hit"
              : "MISS"));
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
    narrator_.Check(
        game.size() >= 12 && game == Keys(round, "editor"),
        fmt::format("game and editor swapped in the same {} variants",
                    game.size()));
    narrator_.Check(
        AllHit(round),
        "every variant's pipeline was a cache hit in each engine's own driver");
    narrator_.Check(round.counters.at("feedback_misses") == 0,
                    "no driver reported a miss to the daemon");
  }

  void CheckFirst(const Round& round) {
    narrator_.Say("");
    CheckShared(round);
    const uint64_t distinct = Keys(round, "game").size() + round.whole.size();
    narrator_.Check(
        round.counters.at("compiles_started") == distinct &&
            round.counters.at("compiles_finished") == distinct,
        fmt::format("{} requests of two processes for {} distinct keys made "
                    "{} compiles",
                    round.counters.at("requests"), distinct,
                    round.counters.at("compiles_started")));
    narrator_.Check(
        round.counters.at("proofs_proven") == distinct,
        "the daemon proved each of them to hit on a second device before it "
        "announced it");
    const bool drew_whole = std::ranges::all_of(
        round.variants,
        [](const Json& line) { return line["frames_on_whole"] >= 1; });
    narrator_.Check(
        drew_whole,
        "every surface was drawn with the whole shader until its variant came");
  }

  void CheckSecond(const Round& first, const Round& second) {
    CheckShared(second);
    narrator_.Check(Keys(first, "game") == Keys(second, "game"),
                    "the same set was served again");
    narrator_.Check(second.counters.at("compiles_started") == 0,
                    "with no compile");
    narrator_.Check(std::ranges::all_of(second.variants,
                                        [](const Json& line) {
                                          return line["origin"] == "store";
                                        }),
                    "every variant came from the store");
  }

  const DemonstrationOptions& options_;
  const Cast& cast_;
  Narrator& narrator_;
};

}  // namespace

absl::Status PlayRounds(const DemonstrationOptions& options, const Cast& cast,
                        Narrator& narrator) {
  return Rounds(options, cast, narrator).Play();
}

}  // namespace kiln::demo
