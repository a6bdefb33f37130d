// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace kiln::daemon {
namespace {

bool ReadExactly(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, data, size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    data += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

uint32_t FrameSize(const FrameHeader& header) {
  return header[0] | header[1] << 8 | header[2] << 16 |
         static_cast<uint32_t>(header[3]) << 24;
}

std::string FrameMessage(std::string_view message) {
  const auto size = static_cast<uint32_t>(message.size());
  std::string frame;
  frame.reserve(message.size() + 4);
  for (int shift = 0; shift < 32; shift += 8) {
    frame.push_back(static_cast<char>(size >> shift));
  }
  return frame.append(message);
}

bool WriteFrame(int fd, std::string_view message) {
  const std::string frame = FrameMessage(message);
  std::string_view rest = frame;
  while (!rest.empty()) {
    const ssize_t sent = send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return false;
    }
    rest.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::optional<std::string> ReadFrame(int fd) {
  FrameHeader header{};
  if (!ReadExactly(fd, reinterpret_cast<char*>(header.data()), header.size())) {
    return std::nullopt;
  }
  const uint32_t size = FrameSize(header);
  if (size > kMaxFrameBytes) {
    return std::nullopt;
  }
  std::string message(size, '\0');
  if (!ReadExactly(fd, message.data(), size)) {
    return std::nullopt;
  }
  return message;
}

}  // namespace kiln::daemon
