// SPDX-License-Identifier: Apache-2.0
#pragma once

// How kilnd and kiln-worker frame messages on their socketpair: a 32-bit
// little-endian length, then a serialised kiln.worker.v1 message.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::daemon {

// The descriptor a worker finds its end of the socketpair on.
inline constexpr int kWorkerChannelFd = 3;

// A program of 32 MiB or a few modules of 16 MiB, with room.
inline constexpr uint32_t kMaxFrameBytes = 128u << 20;

// How many programs a worker keeps. Loading one more drops them all, which
// both sides know from this number.
inline constexpr size_t kWorkerPrograms = 64;

using FrameHeader = std::array<unsigned char, 4>;

// The length a header announces.
uint32_t FrameSize(const FrameHeader& header);

// `message` with its header in front.
std::string FrameMessage(std::string_view message);

// Blocking ends for the worker. Both return false or nullopt once the other
// side is gone, which is the worker's order to exit.
bool WriteFrame(int fd, std::string_view message);
std::optional<std::string> ReadFrame(int fd);

}  // namespace kiln::daemon
