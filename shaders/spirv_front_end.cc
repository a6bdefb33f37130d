// SPDX-License-Identifier: Apache-2.0

// SPIR-V of any compiler, as it is: Slang's, naga's, DXC's. Made sure of here
// is what the validator takes for granted or words badly; the rest is its.

#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/spirv_view.h"
#include "proto/text.h"
#include "shaders/front_end.h"

namespace kiln::shaders {
namespace {

static_assert(std::endian::native == std::endian::little);

// The newest version that SPIRV-Tools and Vulkan 1.3 know: 1.6.
constexpr uint32_t kNewestMinor = 6;

std::string ErrorIn(const StageSource& source, std::string_view text) {
  return fmt::format("{}: error: {}\n", ToValidUtf8(source.path), text);
}

// What is wrong with the bytes of a module; empty: nothing.
std::string FaultOf(std::string_view bytes) {
  if (bytes.empty()) {
    return "the file is empty";
  }
  uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), std::min(bytes.size(), sizeof(magic)));
  if (magic != kSpirvMagic && __builtin_bswap32(magic) != kSpirvMagic) {
    return "this is not SPIR-V: it does not begin with its magic number";
  }
  if (bytes.size() > limits::kModuleBytes) {
    return fmt::format("the module has {} bytes, over the limit of {}",
                       bytes.size(), limits::kModuleBytes);
  }
  if (bytes.size() % sizeof(uint32_t) != 0) {
    return fmt::format(
        "the SPIR-V has {} bytes, which is no whole number of words; it may be "
        "cut off",
        bytes.size());
  }
  if (bytes.size() < kSpirvHeaderWords * sizeof(uint32_t)) {
    return fmt::format("the SPIR-V is cut off in its header, after {} bytes",
                       bytes.size());
  }
  return "";
}

// A module written on a machine of the other byte order has all words swapped,
// those of texts too.
std::vector<uint32_t> WordsOf(std::string_view bytes) {
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  if (words.front() != kSpirvMagic) {
    for (uint32_t& word : words) {
      word = __builtin_bswap32(word);
    }
  }
  return words;
}

std::string VersionFault(uint32_t version) {
  const uint32_t major = version >> 16;
  const uint32_t minor = version >> 8 & 0xFF;
  if ((version & 0xFF) != 0 || major > 0xFF || major == 0) {
    return fmt::format("the SPIR-V has no version: its header says {:#x}",
                       version);
  }
  if (major > 1 || minor > kNewestMinor) {
    return fmt::format("SPIR-V {}.{}, this build reads up to 1.{}", major,
                       minor, kNewestMinor);
  }
  return "";
}

// Where the words end in the middle of an instruction; empty: nowhere.
std::string TruncationFault(std::span<const uint32_t> words) {
  size_t whole = kSpirvHeaderWords;
  if (ForEachInstruction(words, [&](const Instruction& instruction) {
        whole += instruction.words.size();
      })) {
    return "";
  }
  return words[whole] >> 16 == 0
             ? fmt::format(
                   "the SPIR-V is damaged: no instruction begins at byte {}",
                   whole * sizeof(uint32_t))
             : fmt::format(
                   "the SPIR-V is cut off in the instruction at byte {}, which "
                   "has {} words",
                   whole * sizeof(uint32_t), words[whole] >> 16);
}

class SpirvReader final : public FrontEnd {
 public:
  StageResult Compile(const Program& program, const StageSource& source,
                      const CompileOptions& /*options*/) const override {
    const std::string& bytes = program.FindFile(source.path)->text;
    std::string fault = FaultOf(bytes);
    if (!fault.empty()) {
      return {{}, ErrorIn(source, fault)};
    }
    std::vector<uint32_t> words = WordsOf(bytes);
    fault = VersionFault(words[1]);
    if (fault.empty()) {
      fault = TruncationFault(words);
    }
    return fault.empty() ? StageResult{std::move(words), ""}
                         : StageResult{{}, ErrorIn(source, fault)};
  }

  std::string ExplainInvalid(const Program& /*program*/,
                             const StageSource& source,
                             std::string_view message) const override {
    return ErrorIn(source, fmt::format("invalid SPIR-V: {}", message));
  }
};

}  // namespace

const FrontEnd& SpirvFrontEnd() {
  static const SpirvReader front_end;
  return front_end;
}

}  // namespace kiln::shaders
