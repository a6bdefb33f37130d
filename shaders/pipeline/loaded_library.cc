// SPDX-License-Identifier: Apache-2.0
#include "shaders/pipeline/loaded_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include <cstdint>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "proto/bytes.h"
#include "proto/digest.h"

namespace kiln::pipeline {
namespace {

std::string_view SegmentText(const dl_phdr_info& info,
                             const ElfW(Phdr) & segment) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives integers.
  return {reinterpret_cast<const char*>(info.dlpi_addr + segment.p_vaddr),
          segment.p_memsz};
}

// Calls `visit(info, segment)` for each segment of the library of `address`.
template <typename Visit>
void ForEachSegment(const void* address, Visit visit) {
  struct Search {
    const char* address;
    Visit visit;
  } search{static_cast<const char*>(address), visit};

  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& found = *static_cast<Search*>(data);
        bool holds = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const std::string_view text = SegmentText(*info, info->dlpi_phdr[i]);
          holds |= info->dlpi_phdr[i].p_type == PT_LOAD &&
                   found.address >= text.data() &&
                   found.address < text.data() + text.size();
        }
        for (int i = 0; holds && i < info->dlpi_phnum; ++i) {
          found.visit(*info, info->dlpi_phdr[i]);
        }
        return holds ? 1 : 0;
      },
      &search);
}

// The id in a PT_NOTE segment, empty if it holds none.
std::string BuildIdInNotes(std::string_view notes) {
  const auto align = [](size_t size) { return (size + 3) & ~size_t{3}; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    memcpy(&header, notes.data(), sizeof(header));
    const size_t name_at = sizeof(header);
    const size_t value_at = name_at + align(header.n_namesz);
    const size_t end = value_at + align(header.n_descsz);
    if (end > notes.size()) {
      break;
    }
    if (header.n_type == NT_GNU_BUILD_ID && notes.substr(name_at, 3) == "GNU") {
      std::string hex;
      for (const char byte : notes.substr(value_at, header.n_descsz)) {
        hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
      }
      return hex;
    }
    notes.remove_prefix(end);
  }
  return {};
}

}  // namespace

std::string BuildIdOf(const void* address) {
  std::string id;
  ForEachSegment(address,
                 [&](const dl_phdr_info& info, const ElfW(Phdr) & segment) {
                   if (segment.p_type == PT_NOTE && id.empty()) {
                     id = BuildIdInNotes(SegmentText(info, segment));
                   }
                 });
  if (!id.empty()) {
    return id;
  }
  Dl_info where{};
  if (dladdr(address, &where) == 0 || where.dli_fname == nullptr) {
    return {};
  }
  std::ifstream file(where.dli_fname, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return bytes.empty() ? std::string()
                       : "sha256:" + Digest::Of(AsBytes(bytes)).Hex();
}

bool LibraryContains(const void* address, std::string_view bytes) {
  bool found = false;
  ForEachSegment(address,
                 [&](const dl_phdr_info& info, const ElfW(Phdr) & segment) {
                   if (segment.p_type == PT_LOAD &&
                       (segment.p_flags & (PF_W | PF_R)) == PF_R && !found) {
                     const std::string_view text = SegmentText(info, segment);
                     found = memmem(text.data(), text.size(), bytes.data(),
                                    bytes.size()) != nullptr;
                   }
                 });
  return found;
}

}  // namespace kiln::pipeline
