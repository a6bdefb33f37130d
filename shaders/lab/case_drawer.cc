// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/case_drawer.h"

#include <bit>
#include <utility>

#include "proto/status_macros.h"

namespace kiln::lab {
namespace {

// The lower half of the bits in `mask`. Requires: at least two.
FeatureMask LowerHalf(FeatureMask mask) {
  FeatureMask half = 0;
  for (int i = std::popcount(mask) / 2; i > 0; --i) {
    half |= mask & (~mask + 1);
    mask &= mask - 1;
  }
  return half;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CaseDrawer>> CaseDrawer::Make(
    pipeline::Device& device, const Program& program,
    std::optional<Tolerance> tolerance) {
  std::unique_ptr<CaseDrawer> made(
      new CaseDrawer(program, std::move(tolerance)));
  // What kilnd makes of the program is what is proven, against the modules as
  // the front end makes them.
  KILN_ASSIGN_OR_RETURN(made->whole_pipelines_,
                        PipelineSet::Make(device, program));
  KILN_ASSIGN_OR_RETURN(
      made->pipelines_,
      PipelineSet::Make(device, program, program.specialization));
  KILN_ASSIGN_OR_RETURN(made->renderer_, Renderer::Make(device, program));
  return made;
}

absl::Status CaseDrawer::Load(const VariantKey& key, const DrawInputs& inputs) {
  key_ = key;
  KILN_RETURN_IF_ERROR(renderer_->Load(inputs));
  KILN_ASSIGN_OR_RETURN(whole_, Draw(DrawFeatures(inputs.draws.size(), all_)));
  return absl::OkStatus();
}

absl::StatusOr<double> CaseDrawer::Covered() {
  KILN_ASSIGN_OR_RETURN(const Picture nothing, renderer_->DrawNothing());
  KILN_ASSIGN_OR_RETURN(const PictureDifference drawn,
                        ComparePictures(nothing, whole_));
  return static_cast<double>(drawn.pixels) /
         (static_cast<double>(whole_.width) * whole_.height);
}

absl::StatusOr<Picture> CaseDrawer::Draw(const DrawFeatures& features) {
  std::vector<const pipeline::Pipeline*> pipelines;
  for (const FeatureMask mask : features) {
    VariantKey key = key_;
    key.features = mask;
    PipelineSet& set = mask == all_ ? *whole_pipelines_ : *pipelines_;
    KILN_ASSIGN_OR_RETURN(const pipeline::Pipeline* const pipeline,
                          set.Get(key));
    pipelines.push_back(pipeline);
  }
  return renderer_->Draw(pipelines);
}

absl::StatusOr<PictureDifference> CaseDrawer::Compare(
    const Picture& picture) const {
  return ComparePictures(whole_, picture, tolerance_);
}

absl::StatusOr<bool> CaseDrawer::Differs(const DrawFeatures& features) {
  KILN_ASSIGN_OR_RETURN(const Picture picture, Draw(features));
  KILN_ASSIGN_OR_RETURN(const PictureDifference difference, Compare(picture));
  return !difference.same();
}

absl::StatusOr<FeatureMask> CaseDrawer::Blame(const DrawFeatures& features) {
  FeatureMask lacking = 0;
  for (const FeatureMask mask : features) {
    lacking |= all_ & ~mask;
  }
  return Blame(features, lacking);
}

absl::StatusOr<FeatureMask> CaseDrawer::Blame(const DrawFeatures& features,
                                              FeatureMask suspects) {
  if (std::popcount(suspects) < 2) {
    return suspects;
  }
  FeatureMask blamed = 0;
  const FeatureMask lower = LowerHalf(suspects);
  for (const FeatureMask half : {lower, suspects & ~lower}) {
    DrawFeatures without;
    for (const FeatureMask mask : features) {
      without.push_back(all_ & ~(half & ~mask));
    }
    KILN_ASSIGN_OR_RETURN(const bool differs, Differs(without));
    if (differs) {
      KILN_ASSIGN_OR_RETURN(const FeatureMask found, Blame(features, half));
      blamed |= found;
    }
  }
  return blamed == 0 ? suspects : blamed;
}

}  // namespace kiln::lab
