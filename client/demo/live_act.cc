// SPDX-License-Identifier: Apache-2.0
#include "client/demo/live_act.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "client/demo/event_tail.h"
#include "proto/status_macros.h"

namespace kiln::demo {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
using std::chrono::seconds;

constexpr seconds kDeadline{180};
constexpr double kAllowedMs = 1000;
constexpr size_t kFrameLines = 3;

// What is edited: a constant that every lit surface needs.
constexpr char kInclude[] = "core/brdf.glsl";
constexpr std::string_view kBefore = "kDielectric = 0.04;";
constexpr std::string_view kAfter = "kDielectric = 0.05;";
constexpr std::string_view kBroken = "kDielectric = ;";

double Milliseconds(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

absl::StatusOr<std::string> Replaced(const std::string& text,
                                     std::string_view before,
                                     std::string_view after) {
  const size_t at = text.find(before);
  if (at == text.npos) {
    return absl::NotFoundError(
        fmt::format("{}: has no '{}' to edit", kInclude, before));
  }
  std::string edited = text;
  return edited.replace(at, before.size(), after);
}

class LiveAct {
 public:
  LiveAct(const DemonstrationOptions& options, const Cast& cast,
          Narrator& narrator)
      : options_(options),
        cast_(cast),
        narrator_(narrator),
        file_(cast.scene() / kInclude) {}

  absl::Status Play() {
    narrator_.Say("\nOnce more, and now an include is edited while both draw.");
    KILN_RETURN_IF_ERROR(PrepareTexts());
    KILN_ASSIGN_OR_RETURN(auto daemon, cast_.StartDaemon());
    KILN_RETURN_IF_ERROR(StartEngines());
    KILN_RETURN_IF_ERROR(Edit());
    KILN_RETURN_IF_ERROR(Break());
    KILN_RETURN_IF_ERROR(Mend());
    for (const auto& [role, engine] : engines_) {
      engine->Signal(SIGTERM);
    }
    for (const auto& [role, engine] : engines_) {
      KILN_RETURN_IF_ERROR(cast_.AwaitEnd(role, *engine));
    }
    KILN_ASSIGN_OR_RETURN(auto counters, cast_.Counters());
    narrator_.Check(counters.at("feedback_misses") == 0,
                    "no driver reported a miss to the daemon");
    return cast_.StopDaemon(*daemon);
  }

 private:
  // What each engine prints from a moment on.
  using Tails = std::map<std::string, EventTail>;

  Tails FromNow() const {
    Tails tails;
    for (const auto& [role, engine] : engines_) {
      tails.emplace(role, EventTail(*engine));
    }
    return tails;
  }

  absl::Status PrepareTexts() {
    std::ostringstream text;
    text << std::ifstream(file_, std::ios::binary).rdbuf();
    KILN_ASSIGN_OR_RETURN(edited_, Replaced(text.str(), kBefore, kAfter));
    KILN_ASSIGN_OR_RETURN(broken_, Replaced(text.str(), kBefore, kBroken));
    return absl::OkStatus();
  }

  // Saves as most editors do: readers see the old file or the new one.
  absl::Status Save(const std::string& text) const {
    const fs::path temporary = file_.string() + ".tmp";
    std::ofstream(temporary, std::ios::binary) << text;
    std::error_code error;
    fs::rename(temporary, file_, error);
    return error ? absl::InternalError(fmt::format("cannot save '{}': {}",
                                                   kInclude, error.message()))
                 : absl::OkStatus();
  }

  absl::Status StartEngines() {
    for (const std::string role : {"game", "editor"}) {
      std::vector<std::string> arguments = {"--live"};
      if (role == "editor") {
        arguments.emplace_back("--reverse");
      }
      KILN_ASSIGN_OR_RETURN(engines_[role], cast_.StartEngine(role, arguments));
    }
    for (const auto& [role, engine] : engines_) {
      const EventTail tail = EventTail::FromStart(*engine);
      if (!tail.WaitForLines("settled", 1, kDeadline)) {
        return absl::DeadlineExceededError(
            fmt::format("{} does not settle; its log is in {}", role,
                        options_.folder.string()));
      }
      surfaces_ = tail.Of("variant").size();
      keys_ = surfaces_ + tail.Of("loaded").front().at("whole").size();
    }
    return absl::OkStatus();
  }

  // Returns: whether every key was named in a line of `event`, in both engines.
  bool WaitForAll(const Tails& tails, const std::string& event) const {
    return std::ranges::all_of(tails, [&](const auto& tail) {
      return tail.second.WaitForKeys(event, keys_, kDeadline);
    });
  }

  static bool None(const Tails& tails, const std::string& event) {
    return std::ranges::all_of(
        tails, [&](const auto& tail) { return tail.second.Of(event).empty(); });
  }

  absl::Status Edit() {
    const Tails tails = FromNow();
    KILN_ASSIGN_OR_RETURN(const auto before, cast_.Counters());
    KILN_ASSIGN_OR_RETURN(auto idle, cast_.WorkerTimes());
    const Clock::time_point saved = Clock::now();
    KILN_RETURN_IF_ERROR(Save(edited_));
    const bool all = WaitForAll(tails, "reloaded");
    KILN_ASSIGN_OR_RETURN(const auto busy, cast_.WorkerTimes());
    std::chrono::nanoseconds busiest{0};
    for (const auto& [pid, time] : busy) {
      busiest = std::max(busiest, time - idle[pid]);
    }
    KILN_ASSIGN_OR_RETURN(const auto after, cast_.Counters());
    narrator_.Say(fmt::format("Saved {} with another constant.", kInclude));
    ShowSwaps(tails, saved, Milliseconds(busiest));
    narrator_.Check(
        all, fmt::format("both engines went on and swapped all {} pipelines, "
                         "{} surfaces and {} whole shaders",
                         keys_, surfaces_, keys_ - surfaces_));
    const uint64_t compiles =
        after.at("compiles_started") - before.at("compiles_started");
    narrator_.Check(compiles == keys_,
                    fmt::format("{} new variants for two processes made {} "
                                "compiles",
                                keys_, compiles));
    const uint64_t reloads = after.at("reloads") - before.at("reloads");
    narrator_.Check(reloads == 1,
                    fmt::format("writing a temporary file and renaming it was "
                                "{} change",
                                reloads));
    return absl::OkStatus();
  }

  // `busiest_ms`: how long the worker that had most to do was at it.
  void ShowSwaps(const Tails& tails, Clock::time_point saved,
                 double busiest_ms) {
    double last_ms = 0;
    bool hits = true;
    std::map<std::string, double> compile_ms;  // by key
    narrator_.Say(fmt::format("\n{:<8} {:>9} {:>19} {:>18}", "engine",
                              "swapped", "first swap after ms",
                              "last swap after ms"));
    for (const auto& [role, tail] : tails) {
      const std::vector<Json> lines = tail.Of("reloaded");  // in order of time
      std::vector<double> after;
      for (const Json& line : lines) {
        narrator_.Print(line);
        const Clock::time_point at{
            std::chrono::microseconds(line["at_us"].get<int64_t>())};
        after.push_back(Milliseconds(at - saved));
        compile_ms[line["key"]] = line["compile_ms"];
        hits = hits && line["feedback"] == "cache hit";
      }
      if (lines.empty()) {
        continue;
      }
      narrator_.Say(fmt::format("{:<8} {:>9} {:>19.0f} {:>18.0f}", role,
                                lines.size(), after.front(), after.back()));
      last_ms = std::max(last_ms, after.back());
    }
    double driver_ms = 0;
    for (const auto& [key, ms] : compile_ms) {
      driver_ms += ms;
    }
    narrator_.Say(fmt::format(
        "Compiling {} variants took {:.0f} ms in the driver. The worker that "
        "had most to do was at it for {:.0f} ms,\nwith front end, proofs, "
        "statistics and waiting for a processor.\n",
        compile_ms.size(), driver_ms, busiest_ms));
    narrator_.Print({{"event", "swaps"},
                     {"last_swap_ms", last_ms},
                     {"driver_ms", driver_ms},
                     {"busiest_worker_ms", busiest_ms}});
    narrator_.Check(hits, "every new pipeline was a cache hit in each driver");
    narrator_.CheckTime(
        last_ms <= kAllowedMs + (busiest_ms > 0 ? busiest_ms : driver_ms),
        "the last swap came within 1 s after the save plus what that worker "
        "took");
  }

  absl::Status Break() {
    const Tails tails = FromNow();
    KILN_RETURN_IF_ERROR(Save(broken_));
    const auto line_number =
        1 + std::count(broken_.begin(),
                       broken_.begin() +
                           static_cast<std::ptrdiff_t>(broken_.find(kBroken)),
                       '\n');
    const std::string place = fmt::format("scene/{}:{}", kInclude, line_number);
    bool told = WaitForAll(tails, "error");
    bool own = true;
    for (const auto& [role, tail] : tails) {
      // All fail for one reason; kilnd sends what the compiler said once.
      bool shown = false;
      for (const Json& line : tail.Of("error")) {
        narrator_.Print(line);
        const std::string diagnostics = line["diagnostics"];
        shown = shown || diagnostics.find(place) != diagnostics.npos;
        own = own && (!line.contains("surface") || line["drawn_with"] == "own");
      }
      told = told && shown;
    }
    const Tails later = FromNow();
    const bool drawing = std::ranges::all_of(later, [](const auto& tail) {
      return tail.second.WaitForLines("frame", kFrameLines, kDeadline);
    });
    narrator_.Say(
        fmt::format("Saved it with an error in line {}.", line_number));
    narrator_.Check(told,
                    fmt::format("both engines show the error at {}", place));
    narrator_.Check(own && drawing && None(tails, "reloaded"),
                    "and go on drawing with the variants they had");
    return absl::OkStatus();
  }

  absl::Status Mend() {
    const Tails tails = FromNow();
    KILN_ASSIGN_OR_RETURN(const auto before, cast_.Counters());
    KILN_RETURN_IF_ERROR(Save(edited_));
    const bool all = WaitForAll(tails, "recovered");
    KILN_ASSIGN_OR_RETURN(const auto after, cast_.Counters());
    narrator_.Say("Saved what it was before the error.");
    narrator_.Check(all, "both engines have recovered");
    narrator_.Check(
        after.at("compiles_started") == before.at("compiles_started") &&
            None(tails, "reloaded"),
        "with no compile and the same pipelines");
    return absl::OkStatus();
  }

  const DemonstrationOptions& options_;
  const Cast& cast_;
  Narrator& narrator_;
  const fs::path file_;
  std::string edited_;  // texts of kInclude
  std::string broken_;
  std::map<std::string, std::unique_ptr<Child>> engines_;  // by role
  size_t surfaces_ = 0;                                    // of each engine
  size_t keys_ = 0;  // those and the whole-shader set
};

}  // namespace

absl::Status PlayLiveAct(const DemonstrationOptions& options, const Cast& cast,
                         Narrator& narrator) {
  return LiveAct(options, cast, narrator).Play();
}

}  // namespace kiln::demo
