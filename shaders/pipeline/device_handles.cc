// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/device_handles.h"

#include <fmt/format.h>

#include "proto/text.h"
#include "shaders/pipeline/vulkan_names.h"

namespace kiln::pipeline {

void MessageLog::Add(std::string_view message) {
  absl::MutexLock lock(&mutex_);
  if (messages_.size() < kMessages) {
    messages_.push_back(ToValidUtf8(message));
  }
}

std::vector<std::string> MessageLog::All() const {
  absl::MutexLock lock(&mutex_);
  return messages_;
}

OwnedMessenger& OwnedMessenger::operator=(OwnedMessenger&& other) noexcept {
  std::swap(instance_, other.instance_);
  std::swap(messenger_, other.messenger_);
  return *this;
}

OwnedMessenger::~OwnedMessenger() {
  if (messenger_ == VK_NULL_HANDLE) {
    return;
  }
  const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
  destroy(instance_, messenger_, nullptr);
}

absl::Status VulkanError(std::string_view call, VkResult result) {
  return absl::InternalError(fmt::format(
      "{}: {}", call, VulkanValueText(VulkanEnum::kResult, result)));
}

}  // namespace kiln::pipeline
