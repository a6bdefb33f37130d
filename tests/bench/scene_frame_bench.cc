// SPDX-License-Identifier: Apache-2.0

// The frame time of the opaque pass, whole shader against variants, over three
// scenes from light to heavy (shaders/lab/bench_scenes.h). Each draw of the
// variant frame has the variant its own derivation asks for. Time stamps around
// the pass; the two take turns, so that drift hits both alike; the figure is
// the median over all frames, the ratio that of two medians of one run.
// Pictures are compared, too: a fast wrong frame is no result.
//
// Not Google Benchmark: its clock is the CPU's, and it cannot take turns.

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "proto/program_file.h"
#include "proto/status_macros.h"
#include "proto/variant_key.h"
#include "shaders/lab/bench_scenes.h"
#include "shaders/lab/derivation.h"
#include "shaders/lab/image_diff.h"
#include "shaders/lab/pipeline_set.h"
#include "shaders/lab/renderer.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::lab {
namespace {

struct Options {
  std::string target = "lavapipe";
  std::string program = KILN_SOURCE_DIR "/shaders/scene/scene.program.toml";
  std::string size = "1920x1080";
  uint32_t frames = 50;
  uint32_t rounds = 10;
};

struct Size {
  uint32_t width = 0;
  uint32_t height = 0;
};

double Quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share *
                                    static_cast<double>(values.size() - 1))];
}

// Everything one scene is drawn with.
class SceneBench {
 public:
  static absl::StatusOr<std::unique_ptr<SceneBench>> Make(
      pipeline::Device& device, const Program& program) {
    std::unique_ptr<SceneBench> made(new SceneBench(program));
    KILN_ASSIGN_OR_RETURN(made->pipelines_, PipelineSet::Make(device, program));
    KILN_ASSIGN_OR_RETURN(made->derivation_, Derivation::Make(device, program));
    KILN_ASSIGN_OR_RETURN(made->renderer_, Renderer::Make(device, program));
    return made;
  }

  // Draws and times one scene and prints its row.
  absl::Status Run(BenchLevel level, Size size, const Options& options) {
    const DrawInputs inputs = BenchScene(level, size.width, size.height);
    KILN_RETURN_IF_ERROR(renderer_->Load(inputs));
    std::vector<const pipeline::Pipeline*> whole;
    std::vector<const pipeline::Pipeline*> variants;
    std::set<FeatureMask> masks;
    for (size_t draw = 0; draw < inputs.draws.size(); ++draw) {
      VariantKey key{id_, "opaque", "", "", 0, {}};
      KILN_ASSIGN_OR_RETURN(key.features, derivation_->Derive(inputs, draw));
      KILN_ASSIGN_OR_RETURN(key, NormaliseKey(program_, std::move(key)));
      masks.insert(key.features);
      KILN_ASSIGN_OR_RETURN(const pipeline::Pipeline* variant,
                            pipelines_->Get(key));
      variants.push_back(variant);
      key.features = program_.AllFeatures();
      KILN_ASSIGN_OR_RETURN(const pipeline::Pipeline* all,
                            pipelines_->Get(key));
      whole.push_back(all);
    }
    KILN_ASSIGN_OR_RETURN(const Picture whole_picture, renderer_->Draw(whole));
    KILN_ASSIGN_OR_RETURN(const Picture variant_picture,
                          renderer_->Draw(variants));
    KILN_ASSIGN_OR_RETURN(const PictureDifference difference,
                          ComparePictures(whole_picture, variant_picture));
    const bool same = difference.same();

    std::vector<double> whole_us;
    std::vector<double> variant_us;
    for (uint32_t round = 0; round < options.rounds; ++round) {
      const TimingOptions timing{options.frames, 5};
      KILN_ASSIGN_OR_RETURN(auto first, renderer_->TimeDraws(whole, timing));
      KILN_ASSIGN_OR_RETURN(auto second,
                            renderer_->TimeDraws(variants, timing));
      whole_us.insert(whole_us.end(), first.begin(), first.end());
      variant_us.insert(variant_us.end(), second.begin(), second.end());
    }
    const double whole_ms = Quantile(whole_us, 0.5) / 1000;
    const double variant_ms = Quantile(variant_us, 0.5) / 1000;
    fmt::print(
        "| {} | {} | {} | {:.3f} ({:.3f}) | {:.3f} ({:.3f}) | {:.2f} | "
        "{} |\n",
        BenchLevelName(level), inputs.draws.size(), masks.size(), whole_ms,
        Quantile(whole_us, 0.99) / 1000, variant_ms,
        Quantile(variant_us, 0.99) / 1000, whole_ms / variant_ms,
        same ? "same"
             : fmt::format("{} pixels differ by up to {}", difference.pixels,
                           difference.max_difference));
    all_same_ = all_same_ && same;
    return absl::OkStatus();
  }

  bool all_same() const { return all_same_; }

 private:
  explicit SceneBench(const Program& program)
      : program_(program), id_(Digest::Of(EncodeProgram(program))) {}

  const Program& program_;
  const Digest id_;
  bool all_same_ = true;
  std::unique_ptr<PipelineSet> pipelines_;
  std::unique_ptr<Derivation> derivation_;
  std::unique_ptr<Renderer> renderer_;
};

absl::Status Run(const Options& options) {
  Size size;
  if (std::sscanf(options.size.c_str(), "%ux%u", &size.width, &size.height) !=
          2 ||
      size.width == 0 || size.height == 0 || options.frames == 0 ||
      options.rounds == 0) {
    return absl::InvalidArgumentError(
        "--size is not WIDTHxHEIGHT, or --frames or --rounds is 0");
  }
  KILN_ASSIGN_OR_RETURN(const TargetSpec spec,
                        TargetSpec::Parse(options.target));
  KILN_ASSIGN_OR_RETURN(const Program program,
                        LoadProgramFile(options.program));
  KILN_RETURN_IF_ERROR(pipeline::SelectDriver(spec));
  KILN_ASSIGN_OR_RETURN(const auto device, pipeline::Device::Open(spec));
  KILN_ASSIGN_OR_RETURN(const auto bench, SceneBench::Make(*device, program));
  fmt::print("{}\n", device->identity().device_name);
  for (const IdentityField& field : device->identity().fields) {
    if (field.name.starts_with("driver_")) {
      fmt::print("{}: {}\n", field.name, field.value);
    }
  }
  fmt::print(
      "opaque pass at {}x{}, {} frames; milliseconds, median (99th "
      "percentile)\n\n"
      "| scene | draws | variants | whole | variants | ratio | picture |\n"
      "|---|---|---|---|---|---|---|\n",
      size.width, size.height, options.frames * options.rounds);
  for (uint32_t level = 0; level < kBenchLevels; ++level) {
    KILN_RETURN_IF_ERROR(
        bench->Run(static_cast<BenchLevel>(level), size, options));
    std::fflush(stdout);
  }
  return bench->all_same()
             ? absl::OkStatus()
             : absl::DataLossError("variants drew another picture somewhere");
}

}  // namespace
}  // namespace kiln::lab

int main(int argc, char** argv) {
  kiln::lab::Options options;
  CLI::App app("Frame time of the opaque pass, whole shader against variants.");
  app.add_option("--target", options.target, "lavapipe or gpu:<index>")
      ->capture_default_str();
  app.add_option("--program", options.program, "The scene's program file")
      ->capture_default_str();
  app.add_option("--size", options.size, "WIDTHxHEIGHT of the picture")
      ->capture_default_str();
  app.add_option("--frames", options.frames, "Frames a round")
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds of whole, then variants")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = kiln::lab::Run(options); !status.ok()) {
    fmt::print(stderr, "{}\n", status.ToString());
    return 1;
  }
  return 0;
}
