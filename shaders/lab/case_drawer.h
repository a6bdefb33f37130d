// SPDX-License-Identifier: Apache-2.0
#pragma once

// Draws one case after another with the whole shader and with variants of it,
// and finds out which bits make a difference. prove.h decides what is drawn.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/program.h"
#include "proto/variant_key.h"
#include "shaders/lab/draw_inputs.h"
#include "shaders/lab/image_diff.h"
#include "shaders/lab/picture.h"
#include "shaders/lab/pipeline_set.h"
#include "shaders/lab/renderer.h"
#include "shaders/pipeline/device.h"

namespace kiln::lab {

// The features each draw of a case is drawn with. Taken as they are, without
// normalising: every bit is the whole shader.
using DrawFeatures = std::vector<FeatureMask>;

// Thread-compatible.
class CaseDrawer {
 public:
  // Errors: those of PipelineSet::Make and Renderer::Make. Lifetime: `device`
  // outlives the drawer; the program is copied.
  static absl::StatusOr<std::unique_ptr<CaseDrawer>> Make(
      pipeline::Device& device, const Program& program,
      std::optional<Tolerance> tolerance);

  std::span<const pipeline::StageCode> code() const {
    return pipelines_->code();
  }

  size_t pipelines() const {
    return pipelines_->size() + whole_pipelines_->size();
  }

  // Loads a case and draws it with the whole shader. The axes are `key`'s.
  absl::Status Load(const VariantKey& key, const DrawInputs& inputs);

  // Of the loaded case. Requires, all below: Load; an element per draw.
  const Picture& whole() const { return whole_; }

  // The share of its pixels that are not as they were cleared.
  absl::StatusOr<double> Covered();

  absl::StatusOr<Picture> Draw(const DrawFeatures& features);

  // Against the whole shader's picture, within the tolerance.
  absl::StatusOr<PictureDifference> Compare(const Picture& picture) const;

  absl::StatusOr<bool> Differs(const DrawFeatures& features);

  // Which of the bits that `features` lack change the picture. Halves the set
  // for as long as a half alone changes it, so what is left is single bits, or
  // sets that do it only together. Requires: Differs(features).
  absl::StatusOr<FeatureMask> Blame(const DrawFeatures& features);

 private:
  CaseDrawer(const Program& program, std::optional<Tolerance> tolerance)
      : all_(program.AllFeatures()), tolerance_(std::move(tolerance)) {}

  // `suspects` together change the picture; which of them do?
  absl::StatusOr<FeatureMask> Blame(const DrawFeatures& features,
                                    FeatureMask suspects);

  const FeatureMask all_;
  const std::optional<Tolerance> tolerance_;
  std::unique_ptr<PipelineSet> pipelines_;        // of variants
  std::unique_ptr<PipelineSet> whole_pipelines_;  // every bit
  std::unique_ptr<Renderer> renderer_;
  VariantKey key_;
  Picture whole_;
};

}  // namespace kiln::lab
