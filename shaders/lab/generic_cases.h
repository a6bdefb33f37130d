// SPDX-License-Identifier: Apache-2.0
#pragma once

// Cases of any program, from what its modules declare (input_reflection.h).
// Values know nothing of what they mean: floats are in 0 to 1, matrices near
// the identity, integers mostly below four. That turns switches on and off and
// keeps counts and indices small, but whether a block can be seen depends on
// the program; one that needs more has a source of its own, as the scene does.

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "proto/program.h"
#include "shaders/lab/case_source.h"
#include "shaders/lab/input_reflection.h"
#include "shaders/lab/random_vertices.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::lab {

// How large the inputs are whose size the modules leave open.
struct GenericSizes {
  uint32_t elements = kRuntimeElements;  // of arrays without a size; no fewer
  // Texels of every image, which has one mip level then; all 0: a few.
  std::array<uint32_t, 3> image = {0, 0, 0};
};

class GenericCases : public CaseSource {
 public:
  // Lifetime: nothing of the arguments is kept but copies.
  // Errors: Unimplemented, naming what no case can be made of; InvalidArgument
  // for a vertex format that is none.
  static absl::StatusOr<std::unique_ptr<GenericCases>> Make(
      const Program& program, std::span<const pipeline::StageCode> code,
      const GenericSizes& sizes = {});

  // Does not depend on the key but for the size.
  DrawInputs Make(uint64_t seed, const CaseKey& key) override;

 private:
  GenericCases(const Program& program, InputReflection reflection,
               RandomVertices vertices, const GenericSizes& sizes);

  BoundInput Fill(const Descriptor& descriptor, Random& random) const;

  PipelineSkeleton skeleton_;
  InputReflection reflection_;
  RandomVertices vertices_;
  GenericSizes sizes_;
};

// The source that fits: SceneCases for the scene program, told by its name and
// layout, else GenericCases. Errors: as GenericCases::Make.
absl::StatusOr<std::unique_ptr<CaseSource>> MakeCaseSource(
    const Program& program, std::span<const pipeline::StageCode> code);

}  // namespace kiln::lab
