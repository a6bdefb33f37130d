// SPDX-License-Identifier: Apache-2.0
#include "shaders/lint/pointers.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace kiln::shaders::lint {
namespace {

using spv::Op;

// Adds the indices of `chain` to `pointer`. Returns: false where they lead out
// of what the module describes.
bool Extend(const Module& module, const Statement& chain, Pointer& pointer) {
  pointer.own_steps = 0;
  for (size_t i = 4; i < chain.instruction.words.size(); ++i) {
    const Type* type = module.FindType(pointer.pointee);
    if (type == nullptr || type->op == Op::OpTypePointer) {
      return false;
    }
    const uint32_t index = chain.word(i);
    pointer.steps.push_back({index, pointer.pointee});
    ++pointer.own_steps;
    pointer.pointee = type->Part(module.ConstantValue(index).value_or(0));
  }
  return pointer.pointee != 0;
}

// The name of the parameter that `variable` is the argument of.
std::string ParameterName(const Module& module, const Function& function,
                          uint32_t variable) {
  for (const Statement& statement : function.statements) {
    if (statement.op() != Op::OpFunctionCall) {
      continue;
    }
    const Function* callee = module.FindFunction(statement.word(3));
    for (size_t i = 0; callee != nullptr && i < callee->parameters.size();
         ++i) {
      if (statement.word(i + 4) == variable) {
        return std::string(module.Name(callee->parameters[i]));
      }
    }
  }
  return "";
}

std::string ValueName(const Module& module, const Function& function,
                      uint32_t value) {
  const Statement* made = function.Definition(value);
  if (made == nullptr) {
    return std::string(module.Name(value));  // a parameter, or a constant
  }
  if (made->op() == Op::OpLoad) {
    return std::string(module.Name(made->word(3)));
  }
  if (made->op() == Op::OpFunctionCall) {
    // "f(vf3;" as glslang mangles it
    const std::string_view name = module.Name(made->word(3));
    return std::string(name.substr(0, name.find('('))) + "()";
  }
  return "";
}

std::string StoredName(const Module& module, const Function& function,
                       uint32_t variable) {
  for (const Statement& statement : function.statements) {
    if (statement.op() == Op::OpStore && statement.word(1) == variable) {
      return ValueName(module, function, statement.word(2));
    }
  }
  return "";
}

}  // namespace

std::map<uint32_t, Pointer> LocalChains(const Module& module,
                                        const Function& function) {
  std::map<uint32_t, Pointer> chains;
  for (const Statement& statement : function.statements) {
    if (statement.op() != Op::OpAccessChain &&
        statement.op() != Op::OpInBoundsAccessChain) {
      continue;
    }
    Pointer pointer;
    const uint32_t base = statement.word(3);
    if (const auto found = chains.find(base); found != chains.end()) {
      pointer = found->second;
    } else {
      pointer.root = base;
      pointer.pointee = module.LocalPointee(base);
    }
    if (Extend(module, statement, pointer)) {
      chains.emplace(statement.word(2), std::move(pointer));
    }
  }
  return chains;
}

std::string SourceName(const Module& module, const Function& function,
                       uint32_t root) {
  const std::string_view name = module.Name(root);
  const Statement* variable = function.Definition(root);
  if (variable != nullptr && name == "param") {
    return ParameterName(module, function, root);
  }
  if (variable != nullptr && name == "indexable") {
    return StoredName(module, function, root);
  }
  return std::string(name);
}

std::string SourceName(const Module& module, const Function& function,
                       const Pointer& pointer, size_t count) {
  std::string text = SourceName(module, function, pointer.root);
  for (size_t i = 0; i < count && i < pointer.steps.size(); ++i) {
    const Step& step = pointer.steps[i];
    const std::optional<uint32_t> value = module.ConstantValue(step.index);
    const Type* type = module.FindType(step.container);
    if (type != nullptr && type->op == Op::OpTypeStruct) {
      text += fmt::format(".{}",
                          module.MemberName(step.container, value.value_or(0)));
    } else {
      text += value ? fmt::format("[{}]", *value) : "[]";
    }
  }
  return text;
}

}  // namespace kiln::shaders::lint
