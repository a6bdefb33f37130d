// SPDX-License-Identifier: Apache-2.0
#include "shaders/static_use.h"

#include <map>
#include <set>
#include <utility>

#include <spirv-tools/libspirv.hpp>

#include "shaders/spirv_op.h"

namespace kiln::shaders {
namespace {

// What one function names: variables and functions, among other ids.
using NamedIds = std::map<uint32_t, std::set<uint32_t>>;

// SPIRV-Tools says which words of an instruction are ids; others may look like
// one.
class IdReader {
 public:
  static NamedIds Read(std::span<const uint32_t> spirv) {
    IdReader reader;
    const spvtools::Context context(SPV_ENV_VULKAN_1_3);
    spvBinaryParse(context.CContext(), &reader, spirv.data(), spirv.size(),
                   nullptr, &IdReader::Visit, nullptr);
    return std::move(reader.named_);
  }

 private:
  static spv_result_t Visit(void* self,
                            const spv_parsed_instruction_t* instruction) {
    static_cast<IdReader*>(self)->Add(*instruction);
    return SPV_SUCCESS;
  }

  void Add(const spv_parsed_instruction_t& instruction) {
    const auto opcode = static_cast<spv::Op>(instruction.opcode);
    if (opcode == spv::Op::OpFunction) {
      function_ = instruction.result_id;
    } else if (opcode == spv::Op::OpFunctionEnd) {
      function_ = 0;
    }
    if (function_ == 0) {
      return;
    }
    const std::span<const spv_parsed_operand_t> operands(
        instruction.operands, instruction.num_operands);
    for (const spv_parsed_operand_t& operand : operands) {
      if (operand.type == SPV_OPERAND_TYPE_ID) {
        named_[function_].insert(instruction.words[operand.offset]);
      }
    }
  }

  uint32_t function_ = 0;
  NamedIds named_;
};

// All that is named by `function` and those it calls.
std::set<uint32_t> NamedFrom(const NamedIds& named, uint32_t function) {
  std::set<uint32_t> ids;
  std::vector<uint32_t> pending = {function};
  while (!pending.empty()) {
    const auto found = named.find(pending.back());
    pending.pop_back();
    if (found == named.end()) {
      continue;  // no function
    }
    for (const uint32_t id : found->second) {
      if (ids.insert(id).second) {
        pending.push_back(id);
      }
    }
  }
  return ids;
}

void Decorate(const Instruction& instruction, GlobalVariable& variable) {
  switch (static_cast<spv::Decoration>(instruction.word(2))) {
    case spv::Decoration::DescriptorSet:
      variable.set = instruction.word(3);
      break;
    case spv::Decoration::Binding:
      variable.binding = instruction.word(3);
      break;
    default:
      break;
  }
}

}  // namespace

std::vector<GlobalVariable> StaticallyUsed(std::span<const uint32_t> spirv,
                                           uint32_t function) {
  const std::set<uint32_t> used = NamedFrom(IdReader::Read(spirv), function);
  std::map<uint32_t, GlobalVariable> facts;  // of any id that is used
  std::vector<uint32_t> variables;
  bool inside = false;
  ForEachInstruction(spirv, [&](const Instruction& instruction) {
    const spv::Op op = OpOf(instruction);
    inside =
        (inside || op == spv::Op::OpFunction) && op != spv::Op::OpFunctionEnd;
    const bool is_variable = op == spv::Op::OpVariable;
    const uint32_t id = instruction.word(is_variable ? 2 : 1);
    if (inside || !used.contains(id)) {
      return;
    }
    if (is_variable) {
      facts[id].storage_class = instruction.word(3);
      variables.push_back(id);
    } else if (op == spv::Op::OpName) {
      facts[id].name = LiteralText(instruction, 2);
    } else if (op == spv::Op::OpDecorate) {
      Decorate(instruction, facts[id]);
    }
  });
  std::vector<GlobalVariable> result;
  for (const uint32_t id : variables) {
    result.push_back(facts[id]);
  }
  return result;
}

}  // namespace kiln::shaders
