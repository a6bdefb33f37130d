// SPDX-License-Identifier: Apache-2.0
#pragma once

// From a delivered variant to a VkPipeline. Builds it with the code that the
// daemon's worker compiled it with (shaders/pipeline), which is what makes the
// driver find it in its blob. Engines that build pipelines by themselves use
// ReadyVariant directly and must match the worker's create info.

#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/variant.h"
#include "proto/program.h"
#include "shaders/pipeline/device.h"
#include "shaders/pipeline/pipeline.h"

namespace kiln::client {

// Creates `variant`'s pipeline on `device` from its blob; the driver is not
// allowed to compile. `program` is what the variant was asked for by; of a
// recipe the pipeline's description alone is used, which no save changes.
// Returns: the pipeline and the driver's feedback, to be reported with
// `Client::ReportFeedback`; no pipeline when the driver would have had to
// compile.
// Errors: FailedPrecondition when `device` is not what the variant was compiled
// for, naming the identity fields that differ; InvalidArgument for another
// program; else those of pipeline::CreateFromBlob.
// Blocks: 0.03 to 0.6 ms for a hit. Not for the middle of a frame.
absl::StatusOr<pipeline::CreatedPipeline> CreatePipeline(
    const Program& program, const ReadyVariant& variant,
    pipeline::Device& device);

// The feedback as Client::ReportFeedback takes it.
HitFeedback ToFeedback(pipeline::HitFeedback feedback);

}  // namespace kiln::client
