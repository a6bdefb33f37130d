// SPDX-License-Identifier: Apache-2.0
#include "proto/module_interface.h"

#include <fmt/format.h>

#include "proto/canonical.h"
#include "proto/status_macros.h"

namespace kiln {
namespace {

// "KMI" and the format version.
constexpr uint32_t kInterfaceMagic = 0x01494D4B;
constexpr uint32_t kMaxList = 65536;

void WriteVariables(CanonicalWriter& out,
                    const std::vector<InterfaceVariable>& variables) {
  out.Sequence(variables, [&](const InterfaceVariable& variable) {
    out.Text(variable.name);
    out.U32(variable.location);
    out.U32(variable.component);
    out.Text(variable.type);
    out.U32(variable.count);
  });
}

std::vector<InterfaceVariable> ReadVariables(CanonicalReader& in) {
  std::vector<InterfaceVariable> variables;
  in.Sequence(kMaxList, [&] {
    InterfaceVariable& variable = variables.emplace_back();
    variable.name = in.Text();
    variable.location = in.U32();
    variable.component = in.U32();
    variable.type = in.Text();
    variable.count = in.U32();
  });
  return variables;
}

}  // namespace

Bytes EncodeInterface(const ModuleInterface& interface) {
  CanonicalWriter out;
  out.U32(kInterfaceMagic);
  out.Text(interface.entry_point);
  out.Sequence(interface.bindings, [&](const InterfaceBinding& binding) {
    out.Text(binding.name);
    out.U32(binding.set);
    out.U32(binding.binding);
    out.Text(binding.type);
    out.U32(binding.count);
  });
  out.Sequence(interface.push_constants, [&](const PushConstantMember& member) {
    out.Text(member.name);
    out.U32(member.offset_bytes);
    out.U32(member.size_bytes);
  });
  out.Sequence(interface.constants, [&](const InterfaceConstant& constant) {
    out.U32(constant.id);
    out.Text(constant.name);
    out.U8(static_cast<uint8_t>(constant.type));
    out.U64(constant.default_value);
    out.U8(constant.used ? 1 : 0);
  });
  WriteVariables(out, interface.inputs);
  WriteVariables(out, interface.outputs);
  for (size_t i = 0; i < interface.workgroup_size.size(); ++i) {
    out.U32(interface.workgroup_size[i]);
    out.U8(interface.workgroup_size_ids[i].has_value() ? 1 : 0);
    out.U32(interface.workgroup_size_ids[i].value_or(0));
  }
  return std::move(out).Take();
}

absl::StatusOr<ModuleInterface> DecodeInterface(ByteView bytes) {
  CanonicalReader in(bytes);
  if (const uint32_t magic = in.U32(); magic != kInterfaceMagic) {
    return absl::InvalidArgumentError(fmt::format(
        "interface: magic is {:#x}, not {:#x}", magic, kInterfaceMagic));
  }
  ModuleInterface interface;
  interface.entry_point = in.Text();
  in.Sequence(kMaxList, [&] {
    InterfaceBinding& binding = interface.bindings.emplace_back();
    binding.name = in.Text();
    binding.set = in.U32();
    binding.binding = in.U32();
    binding.type = in.Text();
    binding.count = in.U32();
  });
  in.Sequence(kMaxList, [&] {
    PushConstantMember& member = interface.push_constants.emplace_back();
    member.name = in.Text();
    member.offset_bytes = in.U32();
    member.size_bytes = in.U32();
  });
  in.Sequence(kMaxList, [&] {
    InterfaceConstant& constant = interface.constants.emplace_back();
    constant.id = in.U32();
    constant.name = in.Text();
    constant.type = static_cast<ConstantType>(in.U8());
    constant.default_value = in.U64();
    constant.used = in.U8() != 0;
  });
  interface.inputs = ReadVariables(in);
  interface.outputs = ReadVariables(in);
  for (size_t i = 0; i < interface.workgroup_size.size(); ++i) {
    interface.workgroup_size[i] = in.U32();
    const bool present = in.U8() != 0;
    const uint32_t id = in.U32();
    if (present) {
      interface.workgroup_size_ids[i] = id;
    }
  }
  KILN_RETURN_IF_ERROR(in.Finish("interface"));
  if (EncodeInterface(interface) != Bytes(bytes.begin(), bytes.end())) {
    return absl::InvalidArgumentError("interface: the bytes are not canonical");
  }
  return interface;
}

}  // namespace kiln
