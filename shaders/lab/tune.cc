// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/tune.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "proto/status_macros.h"
#include "shaders/lab/generic_cases.h"
#include "shaders/lab/pipeline_set.h"
#include "shaders/lab/program_dispatch.h"
#include "shaders/lab/random.h"
#include "shaders/module_limits.h"
#include "shaders/pipeline/pipeline.h"
#include "shaders/schema_check.h"

namespace kiln::lab {
namespace {

using Extent = std::array<uint32_t, 3>;

constexpr Extent kUsualWork[] = {
    {1u << 20, 1, 1}, {1024, 1024, 1}, {128, 128, 64}};
constexpr double kMostWork = 1u << 31;
constexpr double kTie = 1.02;
constexpr uint32_t kFewestRounds = 3;
constexpr double kHopeless = 3;
// A size is first run on 1/4^6 of its groups, then on four times as many, and
// so on, so that no dispatch is started that may take for ever.
constexpr int kGrowthSteps = 6;
constexpr double kGrowth = 4;
// Every device has images of this many texels a side, 2D and 3D.
constexpr uint32_t kImageSide = 4096;
constexpr uint32_t kVolumeSide = 256;

uint32_t SubgroupSize(const DeviceHandles& device) {
  VkPhysicalDeviceSubgroupProperties subgroup{};
  subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &subgroup;
  vkGetPhysicalDeviceProperties2(device.physical, &all);
  return std::max(subgroup.subgroupSize, 1u);
}

SizeLimits SizeLimitsOf(const pipeline::Device& device) {
  const pipeline::DeviceLimits limits = device.limits();
  SizeLimits made;
  std::ranges::copy(limits.workgroup_size, made.size.begin());
  made.invocations = limits.workgroup_invocations;
  made.subgroup = SubgroupSize(device.handles());
  return made;
}

shaders::ModuleLimits ModuleLimitsOf(const pipeline::Device& device) {
  const pipeline::DeviceLimits limits = device.limits();
  shaders::ModuleLimits made;
  std::ranges::copy(limits.workgroup_size, made.workgroup_size);
  made.workgroup_invocations = limits.workgroup_invocations;
  made.shared_bytes = limits.shared_bytes;
  made.descriptors = limits.descriptors;
  return made;
}

Extent GroupsFor(const Extent& work, const Extent& size) {
  Extent groups;
  for (int i = 0; i < 3; ++i) {
    groups[i] = work[i] / size[i] + (work[i] % size[i] != 0 ? 1 : 0);
  }
  return groups;
}

uint64_t Product(const Extent& extent) {
  return uint64_t{extent[0]} * extent[1] * extent[2];
}

// About `part` of the groups: whole rows of x, then of y, as far as they go.
Extent PartOf(const Extent& groups, double part) {
  const auto most = [](uint64_t all, uint64_t wanted) {
    return static_cast<uint32_t>(std::clamp<uint64_t>(wanted, 1, all));
  };
  const auto wanted =
      static_cast<uint64_t>(static_cast<double>(Product(groups)) * part);
  Extent result;
  result[0] = most(groups[0], wanted);
  result[1] = most(groups[1], wanted / result[0]);
  result[2] = most(groups[2], wanted / result[0] / result[1]);
  return result;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

// A size that is not what the schema says does another share of the work.
absl::Status CheckSchema(const Program& program,
                         std::span<const pipeline::StageCode> code) {
  std::vector<shaders::StageModule> modules;
  for (const pipeline::StageCode& stage : code) {
    modules.push_back({stage.stage, stage.spirv});
  }
  const std::vector<std::string> faults =
      shaders::CompareSchema(program, modules);
  return faults.empty() ? absl::OkStatus()
                        : absl::InvalidArgumentError(fmt::format(
                              "program {} is not what its schema says: {}",
                              program.name, fmt::join(faults, "; ")));
}

absl::StatusOr<Extent> ChooseWork(const Program& program,
                                  const TuneOptions& options) {
  if (options.work == Extent{0, 0, 0}) {
    return kUsualWork[std::clamp<size_t>(program.workgroup_size.size(), 1, 3) -
                      1];
  }
  double product = 1;
  for (const uint32_t side : options.work) {
    product *= side;
  }
  if (product < 1 || product > kMostWork) {
    return absl::InvalidArgumentError(fmt::format(
        "work of {}x{}x{}: there must be 1 to {} invocations", options.work[0],
        options.work[1], options.work[2], kMostWork));
  }
  return options.work;
}

// What one tuning is in the middle of.
class Tuner {
 public:
  Tuner(pipeline::Device& device, const Program& program,
        const TuneOptions& options)
      : device_(device), program_(program), options_(options) {}

  absl::StatusOr<TuneReport> Run() {
    KILN_RETURN_IF_ERROR(CheckRunsCommands(device_.handles()));
    KILN_RETURN_IF_ERROR(List());
    KILN_RETURN_IF_ERROR(MakeInputs());
    for (TunedSize& size : report_.measured) {
      KILN_RETURN_IF_ERROR(Prepare(size));
    }
    std::erase_if(report_.measured, [](const TunedSize& size) {
      return size.microseconds.empty();
    });
    if (report_.measured.empty()) {
      return absl::InvalidArgumentError(
          fmt::format("no workgroup size of program {} could be measured: "
                      "{}: {}",
                      program_.name, report_.refused.back().size,
                      report_.refused.back().why));
    }
    KILN_RETURN_IF_ERROR(Measure());
    Conclude();
    return std::move(report_);
  }

 private:
  // Fills report_.measured with what is to be measured.
  absl::Status List() {
    VariantKey base;
    base.kind = program_.kinds.front().value.name;
    base.features = program_.AllFeatures();
    const SizeLimits limits = SizeLimitsOf(device_);
    KILN_ASSIGN_OR_RETURN(SizeList list,
                          ListSizes(program_, base, limits, options_.choices));
    report_.refused = std::move(list.refused);
    KILN_ASSIGN_OR_RETURN(report_.work, ChooseWork(program_, options_));
    KILN_ASSIGN_OR_RETURN(
        pipelines_,
        PipelineSet::Make(device_, program_, program_.specialization));
    KILN_RETURN_IF_ERROR(CheckSchema(program_, pipelines_->code()));
    for (WorkgroupSize& size : list.sizes) {
      TunedSize tuned;
      tuned.groups = GroupsFor(report_.work, size.size);
      tuned.size = std::move(size);
      if (const absl::Status status = Check(tuned); status.ok()) {
        report_.measured.push_back(std::move(tuned));
      } else {
        Refuse(tuned, std::string(status.message()));
      }
    }
    total_ = report_.measured.size() * (1 + size_t{options_.rounds});
    return absl::OkStatus();
  }

  // What a size brings with it: shared memory, arrays, the number of groups.
  absl::Status Check(const TunedSize& size) const {
    const std::span<const pipeline::StageCode> code = pipelines_->code();
    KILN_ASSIGN_OR_RETURN(const std::vector<Constant> constants,
                          pipeline::ResolveConstants(
                              KeyConstants(program_, size.size.key), code));
    KILN_RETURN_IF_ERROR(shaders::CheckModuleLimits(
        code.front().spirv, constants, ModuleLimitsOf(device_)));
    for (int i = 0; i < 3; ++i) {
      const uint32_t most =
          device_.handles().properties.limits.maxComputeWorkGroupCount[i];
      if (size.groups[i] > most) {
        return absl::InvalidArgumentError(
            fmt::format("{} groups are over the device's limit of {} "
                        "(maxComputeWorkGroupCount[{}])",
                        size.groups[i], most, i));
      }
    }
    return absl::OkStatus();
  }

  absl::Status MakeInputs() {
    // Groups stick out of the work by less than one of them.
    uint64_t covered = Product(report_.work);
    for (const TunedSize& size : report_.measured) {
      covered =
          std::max(covered, Product(size.groups) * size.size.invocations());
    }
    GenericSizes sizes;
    sizes.elements =
        options_.elements != 0
            ? options_.elements
            : static_cast<uint32_t>(std::min<uint64_t>(covered, UINT32_MAX));
    sizes.image = ImageExtent();
    KILN_ASSIGN_OR_RETURN(
        const std::unique_ptr<GenericCases> cases,
        GenericCases::Make(program_, pipelines_->code(), sizes));
    const DrawInputs inputs = cases->Make(options_.seed, {});
    KILN_ASSIGN_OR_RETURN(
        dispatch_, ProgramDispatch::Make(device_, program_, inputs.bound,
                                         inputs.draws.front().push_constants));
    report_.time_stamps = dispatch_->has_time_stamps();
    KILN_ASSIGN_OR_RETURN(untouched_, dispatch_->Output());
    return absl::OkStatus();
  }

  // The work as an image: a long line is folded.
  Extent ImageExtent() const {
    Extent image = report_.work;
    while (image[0] > kImageSide) {
      image[0] = image[0] / 2 + image[0] % 2;
      image[1] *= 2;
    }
    image[1] = std::min(image[1], kImageSide);
    if (image[2] > 1) {
      for (uint32_t& side : image) {
        side = std::min(side, kVolumeSide);
      }
    }
    return image;
  }

  // Warms one size up, growing its work to the whole. Leaves one time in
  // `microseconds`, or none for a size that is refused.
  absl::Status Prepare(TunedSize& size) {
    KILN_ASSIGN_OR_RETURN(const pipeline::Pipeline* const pipeline,
                          pipelines_->Get(size.size.key));
    const double limit_us =
        std::chrono::duration<double, std::micro>(options_.size_limit).count() /
        kFewestRounds;
    double part = 1;
    for (int i = 0; i < kGrowthSteps; ++i) {
      part /= kGrowth;
    }
    for (int step = 0; step <= kGrowthSteps; ++step, part *= kGrowth) {
      KILN_ASSIGN_OR_RETURN(
          const double time,
          dispatch_->Run(*pipeline, PartOf(size.groups, part)));
      const bool whole = step == kGrowthSteps;
      if ((whole ? time : time * kGrowth) > limit_us) {
        Refuse(size,
               fmt::format("{:.3g} of the work takes {:.0f} ms; three "
                           "whole dispatches may take {} ms",
                           part, time / 1000, options_.size_limit.count()));
        return Progress(1 + options_.rounds);
      }
      if (whole) {
        size.microseconds.push_back(time);
      }
    }
    KILN_ASSIGN_OR_RETURN(size.output, dispatch_->Output());
    return Progress(1);
  }

  // Times every size once a round, in an order that is another each time:
  // a device that gets slower as it gets warm does so for all of them.
  absl::Status Measure() {
    const std::vector<uint32_t> rounds = ChooseRounds();
    std::vector<size_t> order(report_.measured.size());
    std::iota(order.begin(), order.end(), size_t{0});
    Random random(options_.seed);
    for (uint32_t round = 0; round < options_.rounds; ++round) {
      for (size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[random.Below(static_cast<uint32_t>(i))]);
      }
      for (const size_t at : order) {
        if (round < rounds[at]) {
          KILN_RETURN_IF_ERROR(MeasureOnce(report_.measured[at]));
        }
        KILN_RETURN_IF_ERROR(Progress(1));
      }
    }
    return absl::OkStatus();
  }

  // How often each size is timed, by what its warm-up took, which it drops.
  std::vector<uint32_t> ChooseRounds() {
    const double limit_us =
        std::chrono::duration<double, std::micro>(options_.size_limit).count();
    const auto warm_up = [](const TunedSize& size) {
      return std::max(size.microseconds.front(), 1.0);
    };
    const double fastest =
        warm_up(*std::ranges::min_element(report_.measured, {}, warm_up));
    std::vector<uint32_t> rounds;
    for (TunedSize& size : report_.measured) {
      const double time = warm_up(size);
      const double affordable =
          time > fastest * kHopeless ? 0 : limit_us / time;
      rounds.push_back(
          std::min(options_.rounds,
                   std::max(kFewestRounds,
                            static_cast<uint32_t>(std::min(affordable, 1e6)))));
      size.microseconds.clear();
    }
    return rounds;
  }

  absl::Status MeasureOnce(TunedSize& size) {
    KILN_ASSIGN_OR_RETURN(const pipeline::Pipeline* const pipeline,
                          pipelines_->Get(size.size.key));
    KILN_ASSIGN_OR_RETURN(const double time,
                          dispatch_->Run(*pipeline, size.groups));
    size.microseconds.push_back(time);
    return absl::OkStatus();
  }

  void Conclude() {
    for (TunedSize& size : report_.measured) {
      size.median_us = Median(size.microseconds);
    }
    std::ranges::stable_sort(report_.measured, {}, &TunedSize::median_us);
    report_.best = BestSize(report_.measured);
    const Digest& first = report_.measured.front().output;
    report_.wrote_output = first != untouched_;
    report_.outputs_agree = std::ranges::all_of(
        report_.measured,
        [&](const TunedSize& size) { return size.output == first; });
  }

  void Refuse(const TunedSize& size, std::string why) {
    report_.refused.push_back({SizeText(size.size.overrides), std::move(why)});
  }

  absl::Status Progress(size_t steps) {
    done_ += steps;
    return !options_.on_progress || options_.on_progress(done_, total_)
               ? absl::OkStatus()
               : absl::CancelledError("interrupted");
  }

  pipeline::Device& device_;
  const Program& program_;
  const TuneOptions& options_;
  TuneReport report_;
  std::unique_ptr<PipelineSet> pipelines_;
  std::unique_ptr<ProgramDispatch> dispatch_;
  Digest untouched_;  // the output before anything ran
  size_t done_ = 0;
  size_t total_ = 0;
};

}  // namespace

size_t BestSize(const std::vector<TunedSize>& measured) {
  size_t best = 0;
  for (size_t i = 1; i < measured.size(); ++i) {
    if (measured[i].median_us <= measured.front().median_us * kTie &&
        measured[i].size.invocations() < measured[best].size.invocations()) {
      best = i;
    }
  }
  return best;
}

absl::StatusOr<TuneReport> TuneProgram(pipeline::Device& device,
                                       const Program& program,
                                       const TuneOptions& options) {
  if (options.rounds == 0) {
    return absl::InvalidArgumentError("rounds is 0");
  }
  return Tuner(device, program, options).Run();
}

}  // namespace kiln::lab
