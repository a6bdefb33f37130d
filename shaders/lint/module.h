// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the lint's rules need to know of a SPIR-V module: types, constants,
// names and, per function, its statements with the source lines they came from.
// Reading never fails: a damaged module gives fewer facts. Ids are those of the
// module; 0 is no id. Internal to lint.cc and the files of this folder.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <spirv/unified1/spirv.hpp11>

#include "proto/spirv_view.h"
#include "shaders/spirv_op.h"

namespace kiln::shaders::lint {

struct Place {
  uint32_t file = 0;  // id of an OpString; 0: the module has no lines here
  uint32_t line = 0;
};

// Types are declared before they are used, so these facts are complete when
// the type is read, and a type can not contain itself.
struct Type {
  spv::Op op = spv::Op::OpNop;
  // Of an array, vector or matrix the element; of a struct the members; of a
  // pointer what it points to. 0: of a kind that no rule looks at.
  std::vector<uint32_t> parts;
  uint32_t length = 0;  // of an array, vector or matrix; 0: unknown
  spv::StorageClass storage = spv::StorageClass::Max;  // of a pointer
  uint32_t depth = 0;                                  // of nesting
  bool has_struct = false;                             // is one or contains one
  bool has_struct_array = false;  // is or contains an array of structs

  bool IsArray() const { return op == spv::Op::OpTypeArray; }

  // How many parts a value has; 0: unknown, or none.
  uint32_t count() const;

  // The type of part `index`, or 0; of all but structs it is the same for all.
  uint32_t Part(uint32_t index) const;
};

struct Statement {
  Instruction instruction;
  Place place;

  spv::Op op() const { return OpOf(instruction); }

  uint32_t word(size_t index) const { return instruction.word(index); }
};

struct Function {
  uint32_t id = 0;
  std::vector<uint32_t> parameters;
  std::vector<Statement> statements;  // from the first OpLabel on
  // The statement that makes a value; for the kinds of value rules look at.
  std::map<uint32_t, size_t> definitions;

  // Returns: nullptr for what is not a value of this function.
  const Statement* Definition(uint32_t id) const;
};

// Thread-compatible. Lifetime: the words must outlive it.
class Module {
 public:
  explicit Module(std::span<const uint32_t> spirv);

  const std::vector<Function>& functions() const { return functions_; }

  const std::vector<uint32_t>& entry_points() const { return entry_points_; }

  // OpVariables outside functions, of storage class Private.
  const std::vector<Statement>& privates() const { return privates_; }

  // Returns: nullptr for what is no type, or one that is nested too deeply.
  const Type* FindType(uint32_t id) const;
  const Function* FindFunction(uint32_t id) const;

  // The type that variable or parameter `id` points to, if it points to memory
  // of the invocation's own (storage class Function or Private); else 0.
  uint32_t LocalPointee(uint32_t id) const;

  // Whether any pointer of such a class points to an array of structs.
  bool has_local_struct_arrays() const { return has_local_struct_arrays_; }

  // A constant or specialization constant, also a computed one.
  bool IsConstant(uint32_t id) const { return constants_.contains(id); }

  // The value of a constant that no specialization changes.
  std::optional<uint32_t> ConstantValue(uint32_t id) const;

  // Empty: none.
  std::string_view Name(uint32_t id) const;
  std::string_view MemberName(uint32_t struct_type, uint32_t member) const;
  std::string_view FileName(const Place& place) const;

 private:
  void Visit(const Instruction& instruction);
  void VisitGlobal(spv::Op op, const Instruction& instruction);
  void VisitBody(spv::Op op, const Instruction& instruction);
  void NotePointer(const Type& type);
  void AddType(spv::Op op, const Instruction& instruction);

  std::map<uint32_t, Type> types_;
  std::map<uint32_t, uint32_t> pointer_types_;  // of variables and parameters
  std::map<uint32_t, std::optional<uint32_t>> constants_;
  std::map<uint32_t, std::string_view> names_;
  std::map<std::pair<uint32_t, uint32_t>, std::string_view> member_names_;
  std::map<uint32_t, std::string_view> strings_;
  std::vector<Function> functions_;
  std::map<uint32_t, size_t> function_index_;
  std::vector<Statement> privates_;
  std::vector<uint32_t> entry_points_;
  Place place_;
  bool in_function_ = false;
  bool has_local_struct_arrays_ = false;
};

}  // namespace kiln::shaders::lint
