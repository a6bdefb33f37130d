// SPDX-License-Identifier: Apache-2.0

// What it costs to make a variant's pipeline: the driver alone, from the whole
// module and the values of its constants, against the specialiser and then the
// driver. For the scene program and, where it is there, the generated shader of
// ../shared/bench. Both ways in turns, so that the ratio is of one run.

#include "shaders/specialise/specialise.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "proto/program.h"
#include "proto/program_file.h"
#include "proto/status_macros.h"
#include "proto/target.h"
#include "proto/variant_key.h"
#include "shaders/compiler.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/pipeline.h"
#include "shaders/specialise/stage_outputs.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

struct Level {
  const char* name;
  FeatureMask features;
};

struct BenchProgram {
  Program program;
  std::vector<Level> levels;
};

struct Options {
  std::vector<std::string> targets = {"radv:vangogh", "radv:navi21",
                                      "lavapipe"};
  std::string program;  // empty: all
  int rounds = 11;
};

std::string FileText(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

BenchProgram UberProgram(const fs::path& folder) {
  Program program;
  program.name = "uber17";
  program.stages = {{Stage::kVertex, "uber17.vert"},
                    {Stage::kFragment, "uber17.frag"}};
  program.files = {{"uber17.frag", FileText(folder / "uber17.frag")},
                   {"uber17.vert", FileText(folder / "uber17.vert")}};
  program.features_constant_ids = {2};
  for (uint32_t bit = 0; bit < 17; ++bit) {
    program.features.push_back(
        {bit, fmt::format("B{}", bit), FeatureOwner::kMaterial});
  }
  program.kinds = {{{"opaque", {}, {}}, false, false}};
  program.backdrops = {{"none", {}, {}}};
  program.blends = {{"none", {}, {}}};
  program.pipeline.color_formats = {"r8g8b8a8_unorm"};
  program.pipeline.descriptors = {
      {0, 0, "uniform_buffer", 1, {Stage::kFragment}},
      {0, 1, "combined_image_sampler", 8, {Stage::kFragment}}};
  return {program, {{"light", 1024}, {"middle", 1027}, {"heavy", 0x1ffff}}};
}

// One stage of a program, read for specialising.
struct BenchStage {
  Stage stage = Stage::kVertex;
  std::vector<uint32_t> spirv;
  specialise::PreparedModule prepared;
  double prepare_ms = 0;
};

double Milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - since)
      .count();
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

absl::StatusOr<std::vector<BenchStage>> CompileStages(const Program& program) {
  std::vector<BenchStage> stages;
  for (const StageSource& source : program.stages) {
    shaders::StageResult made = shaders::CompileStage(program, source.stage);
    if (!made.ok()) {
      return absl::InvalidArgumentError(made.diagnostics);
    }
    const auto start = std::chrono::steady_clock::now();
    KILN_ASSIGN_OR_RETURN(specialise::PreparedModule prepared,
                          specialise::Prepare(made.spirv));
    const double prepare_ms = Milliseconds(start);
    stages.push_back(
        {source.stage, std::move(made.spirv), std::move(prepared), prepare_ms});
  }
  return stages;
}

// The last stage first: the others are made for the one behind.
absl::StatusOr<std::vector<std::vector<uint32_t>>> SpecialiseAll(
    const std::vector<BenchStage>& stages,
    const std::vector<std::vector<Constant>>& constants) {
  std::vector<std::vector<uint32_t>> made(stages.size());
  for (size_t i = stages.size(); i-- > 0;) {
    if (i + 1 == stages.size()) {
      KILN_ASSIGN_OR_RETURN(
          made[i], specialise::Specialise(stages[i].prepared, constants[i]));
    } else {
      KILN_ASSIGN_OR_RETURN(
          made[i], specialise::PruneStageOutputs(stages[i].prepared,
                                                 constants[i], made[i + 1]));
    }
  }
  return made;
}

size_t BytesOf(const std::vector<pipeline::StageCode>& code) {
  size_t bytes = 0;
  for (const pipeline::StageCode& stage : code) {
    bytes += stage.spirv.size_bytes();
  }
  return bytes;
}

// One variant's figures, an element a round; sizes are those of the last.
struct Samples {
  std::vector<double> specialise_ms;
  std::vector<double> driver_ms;
  std::vector<double> module_ms;  // specialising and the driver
  std::vector<double> ratios;
  size_t driver_blob_bytes = 0;
  size_t module_blob_bytes = 0;
  size_t whole_bytes = 0;
  size_t module_bytes = 0;
};

struct Variant {
  const Program& program;
  const std::vector<BenchStage>& stages;
  VariantKey key;
  std::vector<pipeline::StageCode> whole;
  std::vector<std::vector<Constant>> constants;  // of each stage
};

Variant MakeVariant(const Program& program,
                    const std::vector<BenchStage>& stages, const Level& level) {
  Variant variant = {program,
                     stages,
                     WholeKeys(program, Digest::Of(EncodeProgram(program)))[0],
                     {},
                     {}};
  variant.key.features = level.features;
  for (const BenchStage& stage : stages) {
    variant.whole.push_back({stage.stage, stage.spirv});
    const std::set<uint32_t> ids = shaders::SpecializationIds(stage.spirv);
    std::ranges::copy_if(
        KeyConstants(program, variant.key),
        std::back_inserter(variant.constants.emplace_back()),
        [&](const Constant& constant) { return ids.contains(constant.id); });
  }
  return variant;
}

absl::Status MeasureRound(pipeline::Device& device, const Variant& variant,
                          Samples& samples) {
  auto start = std::chrono::steady_clock::now();
  KILN_ASSIGN_OR_RETURN(
      const pipeline::CompiledPipeline by_driver,
      pipeline::CompilePipeline(device,
                                {variant.program, variant.key, variant.whole}));
  samples.driver_ms.push_back(Milliseconds(start));
  start = std::chrono::steady_clock::now();
  KILN_ASSIGN_OR_RETURN(const auto made,
                        SpecialiseAll(variant.stages, variant.constants));
  samples.specialise_ms.push_back(Milliseconds(start));
  std::vector<pipeline::StageCode> code;
  for (size_t i = 0; i < made.size(); ++i) {
    code.push_back({variant.stages[i].stage, made[i]});
  }
  start = std::chrono::steady_clock::now();
  KILN_ASSIGN_OR_RETURN(
      const pipeline::CompiledPipeline by_module,
      pipeline::CompilePipeline(device,
                                {variant.program, variant.key, code, true}));
  samples.module_ms.push_back(samples.specialise_ms.back() +
                              Milliseconds(start));
  samples.ratios.push_back(samples.driver_ms.back() / samples.module_ms.back());
  samples.driver_blob_bytes = by_driver.blob.size();
  samples.module_blob_bytes = by_module.blob.size();
  samples.whole_bytes = BytesOf(variant.whole);
  samples.module_bytes = BytesOf(code);
  return absl::OkStatus();
}

void PrintRow(std::string_view program, std::string_view target,
              std::string_view level, const Samples& samples) {
  fmt::print(
      "| {} | {} | {} | {:.2f} | {:.1f} | {:.1f} | {:.1f} | {:.0f} | {:.0f} | "
      "{:.1f} | {:.1f} |\n",
      program, target, level, Median(samples.specialise_ms),
      Median(samples.driver_ms), Median(samples.module_ms),
      Median(samples.ratios), static_cast<double>(samples.whole_bytes) / 1e3,
      static_cast<double>(samples.module_bytes) / 1e3,
      static_cast<double>(samples.driver_blob_bytes) / 1e3,
      static_cast<double>(samples.module_blob_bytes) / 1e3);
}

absl::StatusOr<std::vector<BenchProgram>> Programs(const Options& options) {
  std::vector<BenchProgram> programs;
  if (options.program.empty() || options.program == "scene") {
    KILN_ASSIGN_OR_RETURN(
        const Program scene,
        LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml"));
    programs.push_back(
        {scene, {{"light", 0x400}, {"middle", 0x483}, {"heavy", 0x1ffff}}});
  }
  const fs::path folder = fs::path(KILN_SOURCE_DIR) / "../shared/bench";
  if (options.program.empty() || options.program == "uber17") {
    if (fs::exists(folder / "uber17.frag")) {
      programs.push_back(UberProgram(folder));
    } else {
      fmt::print("uber17 is left out: ../shared/bench is not there\n");
    }
  }
  return programs;
}

absl::Status Run(const Options& options) {
  KILN_ASSIGN_OR_RETURN(const std::vector<BenchProgram> programs,
                        Programs(options));
  std::vector<std::vector<BenchStage>> stages;
  for (const BenchProgram& bench : programs) {
    KILN_ASSIGN_OR_RETURN(std::vector<BenchStage> compiled,
                          CompileStages(bench.program));
    double prepare_ms = 0;
    for (const BenchStage& stage : compiled) {
      prepare_ms += stage.prepare_ms;
    }
    fmt::print("{}: read in {:.1f} ms, once\n", bench.program.name, prepare_ms);
    stages.push_back(std::move(compiled));
  }
  fmt::print(
      "\n| program | target | variant | specialise ms | driver ms | specialise "
      "+ driver ms | ratio | SPIR-V KB | specialised KB | blob KB | of the "
      "specialised KB |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& target : options.targets) {
    KILN_ASSIGN_OR_RETURN(const TargetSpec spec, TargetSpec::Parse(target));
    if (const absl::Status selected = pipeline::SelectDriver(spec);
        absl::IsNotFound(selected)) {
      fmt::print("{} is left out: {}\n", target,
                 std::string(selected.message()));
      continue;
    }
    KILN_ASSIGN_OR_RETURN(const auto device, pipeline::Device::Open(spec));
    for (size_t i = 0; i < programs.size(); ++i) {
      for (const Level& level : programs[i].levels) {
        const Variant variant =
            MakeVariant(programs[i].program, stages[i], level);
        Samples samples;
        for (int round = 0; round < options.rounds; ++round) {
          KILN_RETURN_IF_ERROR(MeasureRound(*device, variant, samples));
        }
        PrintRow(variant.program.name, target, level.name, samples);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  kiln::Options options;
  CLI::App app("Times variants specialised by the driver and before it.");
  app.add_option("--target", options.targets, "radv:FAMILY, lavapipe, gpu:N");
  app.add_option("--program", options.program, "scene or uber17; else both")
      ->check(CLI::IsMember({"scene", "uber17"}));
  app.add_option("--rounds", options.rounds, "of each variant, both ways")
      ->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = kiln::Run(options);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", status.ToString());
    return 1;
  }
  return 0;
}
