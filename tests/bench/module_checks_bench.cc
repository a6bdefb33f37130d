// SPDX-License-Identifier: Apache-2.0

// What the worker's look at a module costs per variant (module_limits.h,
// freeze.h) and per program (reflection.h), beside the plainest alternative,
// which is to validate the module again (spirv-val).

#include <cstdlib>
#include <vector>

#include <benchmark/benchmark.h>

#include "proto/program_file.h"
#include "shaders/compiler.h"
#include "shaders/freeze.h"
#include "shaders/module_limits.h"
#include "shaders/reflection.h"

namespace kiln::shaders {
namespace {

// The scene's fragment module, some 150 KB.
const std::vector<uint32_t>& SceneModule() {
  static const std::vector<uint32_t> module = [] {
    const auto program =
        LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml");
    if (!program.ok()) {
      std::abort();
    }
    return CompileStage(*program, Stage::kFragment).spirv;
  }();
  return module;
}

// One variant's values: kind, backdrop, features.
const std::vector<Constant>& Values() {
  static const std::vector<Constant> values = {{0, 0}, {1, 0}, {2, 0x405}};
  return values;
}

// The plainest alternative, and what a module costs once anyway.
void BM_Validate(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(ValidateModule(SceneModule()));
  }
}

// Per variant, before the driver: can the device hold these values?
void BM_CheckLimits(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        CheckModuleLimits(SceneModule(), Values(), ModuleLimits()));
  }
}

// Per variant, before the driver: are these values a valid module?
void BM_Freeze(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(FreezeConstants(SceneModule(), Values()));
  }
}

// Once a program that has overrides: which constants are read at all?
void BM_Reflect(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(ReflectConstants(SceneModule()));
  }
}

BENCHMARK(BM_Validate)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_CheckLimits)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Freeze)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Reflect)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace kiln::shaders

BENCHMARK_MAIN();
