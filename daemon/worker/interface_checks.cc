// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/interface_checks.h"

#include <string>

#include <fmt/format.h>

#include "proto/text.h"
#include "shaders/pipeline_interface_check.h"

namespace kiln::daemon {

bool DeclaresPipeline(const Program& program) {
  const PipelineSkeleton& pipeline = program.pipeline;
  return !program.IsShader() &&
         (program.stages.size() > 1 || !pipeline.descriptors.empty() ||
          pipeline.push_constant_bytes != 0 ||
          !pipeline.vertex_attributes.empty());
}

absl::Status CheckInterfaces(const Program& program,
                             std::span<const pipeline::StageCode> code,
                             std::string* diagnostics) {
  std::string faults;
  const StageSource* first = nullptr;
  for (size_t i = 0; i < code.size() && i < program.stages.size(); ++i) {
    const std::string found =
        shaders::PipelineFaults(program, program.stages[i], code[i].spirv);
    if (first == nullptr && !found.empty()) {
      first = &program.stages[i];
    }
    faults += found;
  }
  if (first == nullptr) {
    return absl::OkStatus();
  }
  *diagnostics = CapDiagnostics(faults);
  return absl::InvalidArgumentError(
      fmt::format("{} stage '{}' does not fit the program's pipeline",
                  StageName(first->stage), ToValidUtf8(first->path)));
}

}  // namespace kiln::daemon
