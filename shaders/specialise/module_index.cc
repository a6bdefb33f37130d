// SPDX-License-Identifier: Apache-2.0
#include "shaders/specialise/module_index.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <spirv-tools/libspirv.h>

#include "proto/limits.h"
#include "proto/text.h"
#include "shaders/specialise/opcode_effects.h"

namespace kiln::specialise {
namespace {

bool IsIdOperand(spv_operand_type_t type) {
  return type == SPV_OPERAND_TYPE_ID || type == SPV_OPERAND_TYPE_TYPE_ID ||
         type == SPV_OPERAND_TYPE_MEMORY_SEMANTICS_ID ||
         type == SPV_OPERAND_TYPE_SCOPE_ID;
}

bool IsDebugInfo(spv_ext_inst_type_t set) {
  return set == SPV_EXT_INST_TYPE_DEBUGINFO ||
         set == SPV_EXT_INST_TYPE_OPENCL_DEBUGINFO_100 ||
         set == SPV_EXT_INST_TYPE_NONSEMANTIC_SHADER_DEBUGINFO_100;
}

struct DestroyContext {
  void operator()(spv_context context) const { spvContextDestroy(context); }
};

struct DestroyDiagnostic {
  void operator()(spv_diagnostic diagnostic) const {
    spvDiagnosticDestroy(diagnostic);
  }
};

}  // namespace

class IndexBuilder {
 public:
  // SPIRV-Tools says what it takes. NOLINTNEXTLINE(readability-function-size)
  static spv_result_t Header(void* self, spv_endianness_t, uint32_t, uint32_t,
                             uint32_t, uint32_t bound, uint32_t) {
    ModuleIndex& index = *static_cast<IndexBuilder*>(self)->index_;
    if (bound > limits::kModuleBytes) {
      return SPV_ERROR_INVALID_BINARY;  // ids are many times its words
    }
    index.definitions_.assign(bound, kNone);
    index.roots_.assign(bound, 0);
    index.decorated_.assign(bound, false);
    return SPV_SUCCESS;
  }

  static spv_result_t Visit(void* self,
                            const spv_parsed_instruction_t* parsed) {
    return static_cast<IndexBuilder*>(self)->Add(*parsed);
  }

  absl::StatusOr<std::unique_ptr<const ModuleIndex>> Build(
      std::vector<uint32_t> spirv) {
    if (spirv.size() < kSpirvHeaderWords || spirv[0] != kSpirvMagic) {
      return absl::InvalidArgumentError("the words are no SPIR-V module");
    }
    index_->spirv_ = std::move(spirv);
    const std::unique_ptr<spv_context_t, DestroyContext> context(
        spvContextCreate(SPV_ENV_VULKAN_1_3));
    spv_diagnostic raw = nullptr;
    const spv_result_t result =
        spvBinaryParse(context.get(), this, index_->spirv_.data(),
                       index_->spirv_.size(), Header, Visit, &raw);
    const std::unique_ptr<spv_diagnostic_t, DestroyDiagnostic> diagnostic(raw);
    if (result != SPV_SUCCESS) {
      return absl::InvalidArgumentError(fmt::format(
          "the words are no SPIR-V module: {}",
          diagnostic == nullptr
              ? "unreadable"
              : Shorten(ToValidUtf8(diagnostic->error), limits::kNameBytes)));
    }
    if (!in_functions_) {
      index_->first_function_ =
          static_cast<uint32_t>(index_->instructions_.size());
    }
    KeepVolatileLoads();
    return std::unique_ptr<const ModuleIndex>(std::move(index_));
  }

 private:
  spv_result_t Add(const spv_parsed_instruction_t& parsed) {
    IndexedInstruction& added = index_->instructions_.emplace_back();
    const auto number = static_cast<uint32_t>(index_->instructions_.size() - 1);
    added.begin = next_word_;
    added.word_count = parsed.num_words;
    added.op = static_cast<spv::Op>(parsed.opcode);
    added.type = parsed.type_id;
    added.result = parsed.result_id;
    added.first_id = static_cast<uint32_t>(index_->id_offsets_.size());
    for (uint16_t i = 0; i < parsed.num_operands; ++i) {
      if (!IsIdOperand(parsed.operands[i].type)) {
        continue;
      }
      const uint16_t offset = parsed.operands[i].offset;
      if (parsed.words[offset] >= index_->bound()) {
        return SPV_ERROR_INVALID_BINARY;
      }
      index_->id_offsets_.push_back(offset);
      ++added.id_count;
    }
    next_word_ += parsed.num_words;
    if (added.result != 0) {
      index_->definitions_[added.result] = number;
    }
    if (added.op == spv::Op::OpFunction && !in_functions_) {
      in_functions_ = true;
      index_->first_function_ = number;
    }
    Classify(added, number, parsed.ext_inst_type);
    return SPV_SUCCESS;
  }

  void Classify(IndexedInstruction& added, uint32_t number,
                spv_ext_inst_type_t set) {
    const Instruction view = index_->View(number);
    added.removable = HasNoEffect(added.op);
    switch (added.op) {
      case spv::Op::OpExtInst:
        added.debug_info = IsDebugInfo(set);
        added.removable =
            set == SPV_EXT_INST_TYPE_GLSL_STD_450 && GlslHasNoEffect(view);
        return;
      case spv::Op::OpLoad:
        added.removable = IsPlainAccess(view, 4);
        return;
      case spv::Op::OpVariable:
        index_->roots_[added.result] = added.result;
        return;
      case spv::Op::OpAccessChain:
      case spv::Op::OpInBoundsAccessChain:
      case spv::Op::OpCopyObject:
        index_->roots_[added.result] = index_->roots_[view.word(3)];
        return;
      case spv::Op::OpDecorate:
      case spv::Op::OpDecorateId:
      case spv::Op::OpDecorateString:
      case spv::Op::OpMemberDecorate:
        Decorate(view);
        return;
      case spv::Op::OpGroupDecorate:
        for (size_t i = 2; i < view.words.size(); ++i) {
          index_->decorated_[view.word(i)] = true;
        }
        return;
      default:
        return;
    }
  }

  void Decorate(const Instruction& view) {
    const bool member =
        view.opcode == static_cast<uint16_t>(spv::Op::OpMemberDecorate);
    const auto decoration =
        static_cast<spv::Decoration>(view.word(member ? 3 : 2));
    has_volatile_ |= decoration == spv::Decoration::Volatile;
    if (!member && decoration != spv::Decoration::SpecId) {
      index_->decorated_[view.word(1)] = true;
    }
  }

  // Where anything is volatile, only loads of local variables are certain not
  // to be of it.
  void KeepVolatileLoads() {
    if (!has_volatile_) {
      return;
    }
    for (IndexedInstruction& instruction : index_->instructions_) {
      if (instruction.op == spv::Op::OpLoad) {
        const uint32_t root =
            index_->roots_[index_->spirv_[instruction.begin + 3]];
        instruction.removable &=
            root != 0 && index_->StorageOf(root) == spv::StorageClass::Function;
      }
    }
  }

  std::unique_ptr<ModuleIndex> index_{new ModuleIndex};
  uint32_t next_word_ = kSpirvHeaderWords;
  bool in_functions_ = false;
  bool has_volatile_ = false;
};

absl::StatusOr<std::unique_ptr<const ModuleIndex>> ModuleIndex::Make(
    std::vector<uint32_t> spirv) {
  return IndexBuilder().Build(std::move(spirv));
}

}  // namespace kiln::specialise
