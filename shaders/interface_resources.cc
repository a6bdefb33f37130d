// SPDX-License-Identifier: Apache-2.0
#include "shaders/interface_resources.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/parsed_module.h"

namespace kiln::shaders {
namespace {

constexpr size_t kMostVariables = 65536;

std::string CleanName(const char* name) {
  return Shorten(name == nullptr ? "" : name, limits::kNameBytes);
}

absl::Status Unreadable(std::string_view what) {
  return absl::InvalidArgumentError(
      fmt::format("SPIRV-Cross cannot read the module's {}", what));
}

// The type names of GLSL: "float", "ivec3", "f16vec2", "dmat2x3".
std::string TypeName(spvc_type type) {
  struct Scalar {
    spvc_basetype base;
    std::string_view name;
    std::string_view prefix;  // of vectors and matrices
  };

  constexpr Scalar kScalars[] = {
      {SPVC_BASETYPE_BOOLEAN, "bool", "b"},
      {SPVC_BASETYPE_INT8, "int8_t", "i8"},
      {SPVC_BASETYPE_UINT8, "uint8_t", "u8"},
      {SPVC_BASETYPE_INT16, "int16_t", "i16"},
      {SPVC_BASETYPE_UINT16, "uint16_t", "u16"},
      {SPVC_BASETYPE_INT32, "int", "i"},
      {SPVC_BASETYPE_UINT32, "uint", "u"},
      {SPVC_BASETYPE_INT64, "int64_t", "i64"},
      {SPVC_BASETYPE_UINT64, "uint64_t", "u64"},
      {SPVC_BASETYPE_FP16, "float16_t", "f16"},
      {SPVC_BASETYPE_FP32, "float", ""},
      {SPVC_BASETYPE_FP64, "double", "d"},
  };
  const auto found =
      std::ranges::find(kScalars, spvc_type_get_basetype(type), &Scalar::base);
  if (found == std::end(kScalars)) {
    return "";
  }
  const unsigned rows = spvc_type_get_vector_size(type);
  const unsigned columns = spvc_type_get_columns(type);
  if (columns > 1) {
    return rows == columns
               ? fmt::format("{}mat{}", found->prefix, columns)
               : fmt::format("{}mat{}x{}", found->prefix, columns, rows);
  }
  return rows > 1 ? fmt::format("{}vec{}", found->prefix, rows)
                  : std::string(found->name);
}

// Locations that one element of a type takes: 64-bit vectors of three and four
// take two.
uint32_t LocationsOf(spvc_type type) {
  const bool wide = spvc_type_get_bit_width(type) == 64 &&
                    spvc_type_get_vector_size(type) > 2;
  return spvc_type_get_columns(type) * (wide ? 2 : 1);
}

// Gathers one module's interface. Confined to one call of ReflectInterface.
class Reflector {
 public:
  explicit Reflector(const ParsedModule& module)
      : compiler_(module.compiler()) {}

  // `several`: other entry points have their own bindings in the module.
  absl::Status Read(bool several, ModuleInterface& out) {
    spvc_resources all = nullptr;
    if (spvc_compiler_create_shader_resources(compiler_, &all) !=
        SPVC_SUCCESS) {
      return Unreadable("interface");
    }
    spvc_resources bound = all;
    spvc_set active = nullptr;
    if (several && (spvc_compiler_get_active_interface_variables(
                        compiler_, &active) != SPVC_SUCCESS ||
                    spvc_compiler_create_shader_resources_for_active_variables(
                        compiler_, &bound, active) != SPVC_SUCCESS)) {
      return Unreadable("active variables");
    }
    KILN_RETURN_IF_ERROR(ReadBindings(bound, out.bindings));
    KILN_RETURN_IF_ERROR(ReadPushConstants(bound, out.push_constants));
    KILN_RETURN_IF_ERROR(
        ReadVariables(all, SPVC_RESOURCE_TYPE_STAGE_INPUT, out.inputs));
    return ReadVariables(all, SPVC_RESOURCE_TYPE_STAGE_OUTPUT, out.outputs);
  }

 private:
  using Resources = std::span<const spvc_reflected_resource>;

  static absl::StatusOr<Resources> ListOf(spvc_resources resources,
                                          spvc_resource_type type) {
    const spvc_reflected_resource* list = nullptr;
    size_t count = 0;
    if (spvc_resources_get_resource_list_for_type(resources, type, &list,
                                                  &count) != SPVC_SUCCESS) {
      return Unreadable("resources");
    }
    return Resources(list, count);
  }

  // Elements of an array type, all dimensions together; 1 for no array, 0 for
  // one that is sized at run time.
  static uint32_t ElementsOf(spvc_type type) {
    uint64_t elements = 1;
    for (unsigned i = 0; i < spvc_type_get_num_array_dimensions(type); ++i) {
      elements =
          std::min<uint64_t>(elements * spvc_type_get_array_dimension(type, i),
                             std::numeric_limits<uint32_t>::max());
    }
    return static_cast<uint32_t>(elements);
  }

  // A texel buffer is an image to SPIR-V and a type of its own to Vulkan.
  static std::string_view DescriptorType(spvc_resource_type kind,
                                         spvc_type type) {
    const spvc_basetype base = spvc_type_get_basetype(type);
    const bool buffer =
        (base == SPVC_BASETYPE_IMAGE || base == SPVC_BASETYPE_SAMPLED_IMAGE) &&
        spvc_type_get_image_dimension(type) == SpvDimBuffer;
    switch (kind) {
      case SPVC_RESOURCE_TYPE_UNIFORM_BUFFER:
        return "uniform_buffer";
      case SPVC_RESOURCE_TYPE_STORAGE_BUFFER:
        return "storage_buffer";
      case SPVC_RESOURCE_TYPE_SAMPLED_IMAGE:
        return buffer ? "uniform_texel_buffer" : "combined_image_sampler";
      case SPVC_RESOURCE_TYPE_SEPARATE_IMAGE:
        return buffer ? "uniform_texel_buffer" : "sampled_image";
      case SPVC_RESOURCE_TYPE_STORAGE_IMAGE:
        return buffer ? "storage_texel_buffer" : "storage_image";
      case SPVC_RESOURCE_TYPE_SEPARATE_SAMPLERS:
        return "sampler";
      case SPVC_RESOURCE_TYPE_SUBPASS_INPUT:
        return "input_attachment";
      default:
        return "acceleration_structure_khr";
    }
  }

  std::string NameOf(const spvc_reflected_resource& resource) const {
    std::string name =
        CleanName(spvc_compiler_get_name(compiler_, resource.id));
    return name.empty() ? CleanName(spvc_compiler_get_name(
                              compiler_, resource.base_type_id))
                        : name;
  }

  absl::Status ReadBindings(spvc_resources resources,
                            std::vector<InterfaceBinding>& out) const {
    for (const spvc_resource_type kind :
         {SPVC_RESOURCE_TYPE_UNIFORM_BUFFER, SPVC_RESOURCE_TYPE_STORAGE_BUFFER,
          SPVC_RESOURCE_TYPE_SAMPLED_IMAGE, SPVC_RESOURCE_TYPE_SEPARATE_IMAGE,
          SPVC_RESOURCE_TYPE_STORAGE_IMAGE,
          SPVC_RESOURCE_TYPE_SEPARATE_SAMPLERS,
          SPVC_RESOURCE_TYPE_SUBPASS_INPUT,
          SPVC_RESOURCE_TYPE_ACCELERATION_STRUCTURE}) {
      KILN_ASSIGN_OR_RETURN(const Resources list, ListOf(resources, kind));
      for (const spvc_reflected_resource& resource : list) {
        const spvc_type type =
            spvc_compiler_get_type_handle(compiler_, resource.type_id);
        if (type == nullptr) {
          return Unreadable("descriptor types");
        }
        out.push_back({NameOf(resource),
                       spvc_compiler_get_decoration(compiler_, resource.id,
                                                    SpvDecorationDescriptorSet),
                       spvc_compiler_get_decoration(compiler_, resource.id,
                                                    SpvDecorationBinding),
                       std::string(DescriptorType(kind, type)),
                       ElementsOf(type)});
      }
    }
    std::ranges::sort(out, {}, [](const InterfaceBinding& binding) {
      return std::tie(binding.set, binding.binding, binding.name, binding.type,
                      binding.count);
    });
    return absl::OkStatus();
  }

  absl::Status ReadPushConstants(spvc_resources resources,
                                 std::vector<PushConstantMember>& out) const {
    KILN_ASSIGN_OR_RETURN(const Resources list,
                          ListOf(resources, SPVC_RESOURCE_TYPE_PUSH_CONSTANT));
    for (const spvc_reflected_resource& resource : list) {
      const spvc_type type =
          spvc_compiler_get_type_handle(compiler_, resource.base_type_id);
      if (type == nullptr) {
        return Unreadable("push constants");
      }
      for (unsigned i = 0; i < spvc_type_get_num_member_types(type); ++i) {
        unsigned offset = 0;
        size_t size = 0;
        if (spvc_compiler_type_struct_member_offset(compiler_, type, i,
                                                    &offset) != SPVC_SUCCESS ||
            spvc_compiler_get_declared_struct_member_size(
                compiler_, type, i, &size) != SPVC_SUCCESS) {
          return Unreadable("push constants");
        }
        out.push_back({CleanName(spvc_compiler_get_member_name(
                           compiler_, resource.base_type_id, i)),
                       offset, static_cast<uint32_t>(size)});
      }
    }
    std::ranges::sort(out, {}, [](const PushConstantMember& member) {
      return std::tie(member.offset_bytes, member.name, member.size_bytes);
    });
    return absl::OkStatus();
  }

  absl::Status ReadVariables(spvc_resources resources, spvc_resource_type kind,
                             std::vector<InterfaceVariable>& out) const {
    KILN_ASSIGN_OR_RETURN(const Resources list, ListOf(resources, kind));
    for (const spvc_reflected_resource& resource : list) {
      auto decoration = [&](SpvDecoration which) {
        return spvc_compiler_get_decoration(compiler_, resource.id, which);
      };
      uint32_t location = decoration(SpvDecorationLocation);
      KILN_RETURN_IF_ERROR(
          Expand({CleanName(spvc_compiler_get_name(compiler_, resource.id)),
                  decoration(SpvDecorationComponent), resource.type_id},
                 location, out));
    }
    std::ranges::sort(out, {}, [](const InterfaceVariable& variable) {
      return std::tie(variable.location, variable.component, variable.name,
                      variable.type, variable.count);
    });
    return absl::OkStatus();
  }

  // A variable, or a member of one.
  struct Part {
    std::string name;
    uint32_t component = 0;
    spvc_type_id type = 0;
  };

  // Adds what has locations in `part`, from `location` on, which is moved
  // behind it.
  absl::Status Expand(const Part& part, uint32_t& location,
                      std::vector<InterfaceVariable>& out) const {
    const spvc_type type = spvc_compiler_get_type_handle(compiler_, part.type);
    if (type == nullptr) {
      return Unreadable("inputs and outputs");
    }
    const uint32_t elements = ElementsOf(type);
    if (spvc_type_get_basetype(type) != SPVC_BASETYPE_STRUCT) {
      out.push_back(
          {part.name, location, part.component, TypeName(type), elements});
      location += elements * LocationsOf(type);
      return CheckCount(out);
    }
    const bool array = spvc_type_get_num_array_dimensions(type) != 0;
    for (uint32_t i = 0; i < elements; ++i) {
      const size_t before = out.size();
      KILN_RETURN_IF_ERROR(
          ExpandMembers(array ? fmt::format("{}[{}]", part.name, i) : part.name,
                        type, location, out));
      if (out.size() == before) {  // of built-ins only
        break;
      }
    }
    return absl::OkStatus();
  }

  absl::Status ExpandMembers(const std::string& name, spvc_type type,
                             uint32_t& location,
                             std::vector<InterfaceVariable>& out) const {
    const spvc_type_id id = spvc_type_get_base_type_id(type);
    for (unsigned i = 0; i < spvc_type_get_num_member_types(type); ++i) {
      auto has = [&](SpvDecoration which) {
        return spvc_compiler_has_member_decoration(compiler_, id, i, which) !=
               SPVC_FALSE;
      };
      auto decoration = [&](SpvDecoration which) {
        return spvc_compiler_get_member_decoration(compiler_, id, i, which);
      };
      if (has(SpvDecorationBuiltIn)) {
        continue;
      }
      if (has(SpvDecorationLocation)) {
        location = decoration(SpvDecorationLocation);
      }
      const std::string member =
          CleanName(spvc_compiler_get_member_name(compiler_, id, i));
      const std::string_view dot = name.empty() || member.empty() ? "" : ".";
      KILN_RETURN_IF_ERROR(
          Expand({Shorten(fmt::format("{}{}{}", name, dot, member),
                          limits::kNameBytes),
                  decoration(SpvDecorationComponent),
                  spvc_type_get_member_type(type, i)},
                 location, out));
    }
    return absl::OkStatus();
  }

  static absl::Status CheckCount(const std::vector<InterfaceVariable>& out) {
    return out.size() <= kMostVariables
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     fmt::format("the module has more than {} inputs or "
                                 "outputs",
                                 kMostVariables));
  }

  spvc_compiler compiler_;
};

}  // namespace

absl::Status ReadResources(const ParsedModule& module, bool several,
                           ModuleInterface& out) {
  return Reflector(module).Read(several, out);
}

}  // namespace kiln::shaders
