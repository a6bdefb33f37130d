// SPDX-License-Identifier: Apache-2.0
#include "shaders/lab/input_reflection.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <spirv_cross/spirv_cross_c.h>

#include "absl/status/statusor.h"
#include "proto/status_macros.h"

namespace kiln::lab {
namespace {

// More numbers than this are no case but an attack on memory.
constexpr size_t kFieldsMost = size_t{1} << 20;

struct DestroyContext {
  void operator()(spvc_context context) const { spvc_context_destroy(context); }
};

using OwnedContext =
    std::unique_ptr<std::remove_pointer_t<spvc_context>, DestroyContext>;

bool IsFloat(spvc_basetype base) {
  return base == SPVC_BASETYPE_FP16 || base == SPVC_BASETYPE_FP32 ||
         base == SPVC_BASETYPE_FP64;
}

bool IsInteger(spvc_basetype base) {
  return base >= SPVC_BASETYPE_INT8 && base <= SPVC_BASETYPE_UINT64;
}

FieldUse UseInMatrix(uint32_t column, uint32_t row, bool is_4x4) {
  if (is_4x4 && row == 3) {
    return column == 3 ? FieldUse::kCorner : FieldUse::kLastRow;
  }
  return column == row ? FieldUse::kDiagonal : FieldUse::kOffDiagonal;
}

// "" if undeclared; nullopt if none that a case can be made of.
std::optional<std::string> StorageFormat(SpvImageFormat format) {
  switch (format) {
    case SpvImageFormatUnknown:
      return "";
    case SpvImageFormatRgba8:
      return "r8g8b8a8_unorm";
    case SpvImageFormatRgba8Snorm:
      return "r8g8b8a8_snorm";
    case SpvImageFormatRgba16f:
      return "r16g16b16a16_sfloat";
    case SpvImageFormatRgba32f:
      return "r32g32b32a32_sfloat";
    case SpvImageFormatR32f:
      return "r32_sfloat";
    default:
      return std::nullopt;
  }
}

// How a member that is a matrix or an array lies in its struct.
struct MemberLayout {
  uint32_t offset = 0;
  uint32_t array_stride = 0;
  uint32_t matrix_stride = 0;
  bool row_major = false;
};

class ModuleReader {
 public:
  ModuleReader(spvc_context context, spvc_compiler compiler)
      : context_(context), compiler_(compiler) {}

  absl::Status Read(InputReflection& reflection) {
    spvc_resources resources = nullptr;
    if (spvc_compiler_create_shader_resources(compiler_, &resources) !=
        SPVC_SUCCESS) {
      return Failure();
    }
    KILN_RETURN_IF_ERROR(ReadBlocks(resources, reflection));
    KILN_RETURN_IF_ERROR(ReadImages(resources, reflection));
    return RefuseOthers(resources);
  }

 private:
  using Resources = std::span<const spvc_reflected_resource>;

  absl::Status Failure() const {
    return absl::UnimplementedError(
        fmt::format("module cannot be reflected: {}",
                    spvc_context_get_last_error_string(context_)));
  }

  static Resources List(spvc_resources resources, spvc_resource_type type) {
    const spvc_reflected_resource* first = nullptr;
    size_t count = 0;
    spvc_resources_get_resource_list_for_type(resources, type, &first, &count);
    return {first, count};
  }

  uint32_t Place(SpvId id, SpvDecoration decoration) const {
    return spvc_compiler_get_decoration(compiler_, id, decoration);
  }

  absl::Status ReadBlocks(spvc_resources resources,
                          InputReflection& reflection) {
    for (const spvc_resource_type type : {SPVC_RESOURCE_TYPE_UNIFORM_BUFFER,
                                          SPVC_RESOURCE_TYPE_STORAGE_BUFFER}) {
      for (const spvc_reflected_resource& resource : List(resources, type)) {
        KILN_ASSIGN_OR_RETURN(ReflectedBlock block, ReadBlock(resource));
        KeepLarger(std::move(block), reflection.blocks);
      }
    }
    for (const spvc_reflected_resource& resource :
         List(resources, SPVC_RESOURCE_TYPE_PUSH_CONSTANT)) {
      KILN_ASSIGN_OR_RETURN(ReflectedBlock block, ReadBlock(resource));
      const auto& known = reflection.push_constants;
      if (!known.has_value() || known->bytes < block.bytes) {
        reflection.push_constants = std::move(block);
      }
    }
    return absl::OkStatus();
  }

  static void KeepLarger(ReflectedBlock block,
                         std::vector<ReflectedBlock>& blocks) {
    for (ReflectedBlock& known : blocks) {
      if (known.set == block.set && known.binding == block.binding) {
        if (known.bytes < block.bytes) {
          known = std::move(block);
        }
        return;
      }
    }
    blocks.push_back(std::move(block));
  }

  absl::StatusOr<ReflectedBlock> ReadBlock(
      const spvc_reflected_resource& resource) {
    ReflectedBlock block;
    block.set = Place(resource.id, SpvDecorationDescriptorSet);
    block.binding = Place(resource.id, SpvDecorationBinding);
    const spvc_type type =
        spvc_compiler_get_type_handle(compiler_, resource.base_type_id);
    size_t bytes = 0;
    size_t with_one_more = 0;
    if (spvc_compiler_get_declared_struct_size_runtime_array(
            compiler_, type, kRuntimeElements, &bytes) != SPVC_SUCCESS ||
        spvc_compiler_get_declared_struct_size_runtime_array(
            compiler_, type, kRuntimeElements + 1, &with_one_more) !=
            SPVC_SUCCESS) {
      return Failure();
    }
    block.bytes = static_cast<uint32_t>(bytes);
    block.element_bytes = static_cast<uint32_t>(with_one_more - bytes);
    KILN_RETURN_IF_ERROR(ReadStruct(resource.base_type_id, 0, block.fields));
    return block;
  }

  absl::Status ReadStruct(spvc_type_id id, uint32_t offset,
                          std::vector<BlockField>& fields) {
    const spvc_type type = spvc_compiler_get_type_handle(compiler_, id);
    const unsigned members = spvc_type_get_num_member_types(type);
    for (unsigned i = 0; i < members; ++i) {
      const spvc_type_id member = spvc_type_get_member_type(type, i);
      MemberLayout layout;
      if (spvc_compiler_type_struct_member_offset(
              compiler_, type, i, &layout.offset) != SPVC_SUCCESS) {
        return Failure();
      }
      layout.offset += offset;
      const spvc_type handle = spvc_compiler_get_type_handle(compiler_, member);
      if (spvc_type_get_num_array_dimensions(handle) > 0) {
        spvc_compiler_type_struct_member_array_stride(compiler_, type, i,
                                                      &layout.array_stride);
      }
      if (spvc_type_get_columns(handle) > 1) {
        spvc_compiler_type_struct_member_matrix_stride(compiler_, type, i,
                                                       &layout.matrix_stride);
        layout.row_major = spvc_compiler_has_member_decoration(
            compiler_, id, i, SpvDecorationRowMajor);
      }
      KILN_RETURN_IF_ERROR(ReadArray(
          member, spvc_type_get_num_array_dimensions(handle), layout, fields));
    }
    return absl::OkStatus();
  }

  // `dimensions`: those of the member that are left, outermost last.
  absl::Status ReadArray(spvc_type_id id, unsigned dimensions,
                         MemberLayout layout, std::vector<BlockField>& fields) {
    if (dimensions == 0) {
      return ReadElement(id, layout, fields);
    }
    KILN_ASSIGN_OR_RETURN(const uint32_t count, Elements(id, dimensions - 1));
    const uint32_t stride = layout.array_stride;
    if (dimensions > 1) {
      KILN_ASSIGN_OR_RETURN(const uint32_t inner, Elements(id, dimensions - 2));
      layout.array_stride = stride / std::max(inner, 1u);
    }
    for (uint32_t i = 0; i < count; ++i) {
      KILN_RETURN_IF_ERROR(ReadArray(id, dimensions - 1, layout, fields));
      layout.offset += stride;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<uint32_t> Elements(spvc_type_id id, unsigned dimension) {
    const spvc_type type = spvc_compiler_get_type_handle(compiler_, id);
    const SpvId size = spvc_type_get_array_dimension(type, dimension);
    if (spvc_type_array_dimension_is_literal(type, dimension)) {
      return size == 0 ? kRuntimeElements : size;
    }
    const spvc_constant constant =
        spvc_compiler_get_constant_handle(compiler_, size);
    if (constant == nullptr) {
      return Failure();
    }
    return spvc_constant_get_scalar_u32(constant, 0, 0);
  }

  absl::Status ReadElement(spvc_type_id id, const MemberLayout& layout,
                           std::vector<BlockField>& fields) {
    const spvc_type type = spvc_compiler_get_type_handle(compiler_, id);
    const spvc_basetype base = spvc_type_get_basetype(type);
    if (spvc_type_get_storage_class(type) ==
        SpvStorageClassPhysicalStorageBuffer) {
      return absl::UnimplementedError("a block holds a pointer");
    }
    if (base == SPVC_BASETYPE_STRUCT) {
      return ReadStruct(spvc_type_get_base_type_id(type), layout.offset,
                        fields);
    }
    if (!IsFloat(base) && !IsInteger(base)) {
      return absl::UnimplementedError(
          "a block holds what is neither a number nor a struct of them");
    }
    ReadNumbers(type, layout, fields);
    if (fields.size() > kFieldsMost) {
      return absl::UnimplementedError(
          fmt::format("a block holds more than {} numbers", kFieldsMost));
    }
    return absl::OkStatus();
  }

  static void ReadNumbers(spvc_type type, const MemberLayout& layout,
                          std::vector<BlockField>& fields) {
    const uint32_t bytes = spvc_type_get_bit_width(type) / 8;
    const uint32_t columns = spvc_type_get_columns(type);
    const uint32_t rows = spvc_type_get_vector_size(type);
    for (uint32_t column = 0; column < columns; ++column) {
      for (uint32_t row = 0; row < rows; ++row) {
        const uint32_t major = layout.row_major ? row : column;
        const uint32_t minor = layout.row_major ? column : row;
        FieldUse use = IsFloat(spvc_type_get_basetype(type))
                           ? FieldUse::kFloat
                           : FieldUse::kInteger;
        if (columns > 1) {
          use = UseInMatrix(column, row, columns == 4 && rows == 4);
        }
        fields.push_back(
            {layout.offset + major * layout.matrix_stride + minor * bytes,
             bytes, use});
      }
    }
  }

  absl::Status ReadImages(spvc_resources resources,
                          InputReflection& reflection) {
    for (const spvc_resource_type type :
         {SPVC_RESOURCE_TYPE_SAMPLED_IMAGE, SPVC_RESOURCE_TYPE_SEPARATE_IMAGE,
          SPVC_RESOURCE_TYPE_STORAGE_IMAGE}) {
      for (const spvc_reflected_resource& resource : List(resources, type)) {
        KILN_ASSIGN_OR_RETURN(ReflectedImage image, ReadImage(resource));
        const bool known = std::ranges::any_of(
            reflection.images, [&](const ReflectedImage& other) {
              return other.set == image.set && other.binding == image.binding;
            });
        if (!known) {
          reflection.images.push_back(std::move(image));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ReflectedImage> ReadImage(
      const spvc_reflected_resource& resource) {
    const spvc_type type =
        spvc_compiler_get_type_handle(compiler_, resource.type_id);
    const auto refuse = [&](std::string_view what) {
      return absl::UnimplementedError(
          fmt::format("image {} is {}", resource.name, what));
    };
    const SpvDim dimension = spvc_type_get_image_dimension(type);
    if (dimension != SpvDim2D && dimension != SpvDim3D) {
      return refuse("neither 2D nor 3D");
    }
    if (spvc_type_get_image_multisampled(type)) {
      return refuse("multisampled");
    }
    const spvc_type texel = spvc_compiler_get_type_handle(
        compiler_, spvc_type_get_image_sampled_type(type));
    if (!IsFloat(spvc_type_get_basetype(texel))) {
      return refuse("of integers");
    }
    ReflectedImage image;
    image.set = Place(resource.id, SpvDecorationDescriptorSet);
    image.binding = Place(resource.id, SpvDecorationBinding);
    image.compare = spvc_type_get_image_is_depth(type);
    if (dimension == SpvDim3D) {
      image.shape = ImageShape::k3D;
    } else if (spvc_type_get_image_arrayed(type)) {
      image.shape = ImageShape::k2DArray;
    }
    const auto format =
        spvc_type_get_image_is_storage(type)
            ? StorageFormat(spvc_type_get_image_storage_format(type))
            : "";
    if (!format.has_value()) {
      return refuse("of a format without noise");
    }
    image.format = *format;
    return image;
  }

  static absl::Status RefuseOthers(spvc_resources resources) {
    for (const spvc_resource_type type :
         {SPVC_RESOURCE_TYPE_SUBPASS_INPUT,
          SPVC_RESOURCE_TYPE_ACCELERATION_STRUCTURE}) {
      if (const Resources list = List(resources, type); !list.empty()) {
        return absl::UnimplementedError(fmt::format(
            "{} is neither a buffer nor a plain image", list[0].name));
      }
    }
    return absl::OkStatus();
  }

  spvc_context context_;
  spvc_compiler compiler_;
};

}  // namespace

absl::Status ReflectInputs(std::span<const uint32_t> spirv,
                           InputReflection& reflection) {
  spvc_context raw = nullptr;
  if (spvc_context_create(&raw) != SPVC_SUCCESS) {
    return absl::ResourceExhaustedError("no memory to reflect a module");
  }
  const OwnedContext context(raw);
  spvc_parsed_ir ir = nullptr;
  spvc_compiler compiler = nullptr;
  if (spvc_context_parse_spirv(raw, spirv.data(), spirv.size(), &ir) !=
          SPVC_SUCCESS ||
      spvc_context_create_compiler(raw, SPVC_BACKEND_NONE, ir,
                                   SPVC_CAPTURE_MODE_TAKE_OWNERSHIP,
                                   &compiler) != SPVC_SUCCESS) {
    return absl::UnimplementedError(
        fmt::format("module cannot be reflected: {}",
                    spvc_context_get_last_error_string(raw)));
  }
  return ModuleReader(raw, compiler).Read(reflection);
}

}  // namespace kiln::lab
