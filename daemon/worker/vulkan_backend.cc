// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/vulkan_backend.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "proto/status_macros.h"

namespace kiln::daemon {
namespace {

// A device, and how many of its messages have been taken.
class WatchedDevice {
 public:
  explicit WatchedDevice(std::unique_ptr<pipeline::Device> device)
      : device_(std::move(device)) {}

  pipeline::Device& operator*() { return *device_; }

  const pipeline::Device* operator->() const { return device_.get(); }

  void TakeMessages(std::vector<std::string>& out) {
    std::vector<std::string> all = device_->validation_messages();
    for (; taken_ < all.size(); ++taken_) {
      out.push_back(std::move(all[taken_]));
    }
  }

 private:
  std::unique_ptr<pipeline::Device> device_;
  size_t taken_ = 0;
};

class VulkanBackend final : public Backend {
 public:
  VulkanBackend(std::unique_ptr<pipeline::Device> device,
                std::unique_ptr<pipeline::Device> proof_device)
      : device_(std::move(device)), proof_device_(std::move(proof_device)) {}

  const TargetIdentity& identity() const override {
    return device_->identity();
  }

  pipeline::DeviceLimits limits() const override { return device_->limits(); }

  absl::StatusOr<pipeline::CompiledPipeline> Compile(
      const pipeline::PipelineInput& input) override {
    return pipeline::CompilePipeline(*device_, input);
  }

  absl::StatusOr<pipeline::HitFeedback> Prove(
      const pipeline::PipelineInput& input, ByteView blob) override {
    KILN_ASSIGN_OR_RETURN(
        const pipeline::CreatedPipeline created,
        pipeline::CreateFromBlob(*proof_device_, input, blob));
    return created.feedback;
  }

  absl::StatusOr<pipeline::PipelineStatistics> Measure(
      const pipeline::PipelineInput& input) override {
    return pipeline::MeasurePipeline(*device_, input);
  }

  std::vector<std::string> TakeValidationMessages() override {
    std::vector<std::string> messages;
    device_.TakeMessages(messages);
    proof_device_.TakeMessages(messages);
    return messages;
  }

 private:
  WatchedDevice device_;
  WatchedDevice proof_device_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenVulkan(
    const TargetSpec& spec, const BackendOptions& options) {
  KILN_RETURN_IF_ERROR(pipeline::SelectDriver(spec));
  const pipeline::DeviceOptions device_options{options.validate};
  KILN_ASSIGN_OR_RETURN(auto device,
                        pipeline::Device::Open(spec, device_options));
  KILN_ASSIGN_OR_RETURN(auto proof_device,
                        pipeline::Device::Open(spec, device_options));
  return std::make_unique<VulkanBackend>(std::move(device),
                                         std::move(proof_device));
}

}  // namespace kiln::daemon
