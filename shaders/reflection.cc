// SPDX-License-Identifier: Apache-2.0
#include "shaders/reflection.h"

#include <bit>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <spirv-tools/optimizer.hpp>
#include <spirv_cross/spirv_cross_c.h>

#include "proto/limits.h"
#include "proto/status_macros.h"
#include "proto/text.h"
#include "shaders/compiler.h"

namespace kiln::shaders {
namespace {

struct DestroyContext {
  void operator()(spvc_context context) const { spvc_context_destroy(context); }
};

// One module as SPIRV-Cross parsed it.
class ParsedModule {
 public:
  static absl::StatusOr<ParsedModule> Parse(std::span<const uint32_t> spirv) {
    ParsedModule module;
    spvc_context context = nullptr;
    if (spvc_context_create(&context) != SPVC_SUCCESS) {
      return absl::ResourceExhaustedError("SPIRV-Cross has no memory");
    }
    module.context_.reset(context);
    spvc_parsed_ir ir = nullptr;
    if (spvc_context_parse_spirv(context, spirv.data(), spirv.size(), &ir) !=
            SPVC_SUCCESS ||
        spvc_context_create_compiler(context, SPVC_BACKEND_NONE, ir,
                                     SPVC_CAPTURE_MODE_TAKE_OWNERSHIP,
                                     &module.compiler_) != SPVC_SUCCESS) {
      return absl::InvalidArgumentError(fmt::format(
          "SPIRV-Cross cannot read the module: {}",
          Shorten(ToValidUtf8(spvc_context_get_last_error_string(context)),
                  limits::kStatusTextBytes / 2)));
    }
    return module;
  }

  spvc_compiler compiler() const { return compiler_; }

 private:
  std::unique_ptr<spvc_context_s, DestroyContext> context_;
  spvc_compiler compiler_ = nullptr;  // the context's
};

std::optional<ConstantType> TypeFor(spvc_basetype type) {
  switch (type) {
    case SPVC_BASETYPE_BOOLEAN:
      return ConstantType::kBool;
    case SPVC_BASETYPE_INT8:
      return ConstantType::kInt8;
    case SPVC_BASETYPE_UINT8:
      return ConstantType::kUint8;
    case SPVC_BASETYPE_INT16:
      return ConstantType::kInt16;
    case SPVC_BASETYPE_UINT16:
      return ConstantType::kUint16;
    case SPVC_BASETYPE_INT32:
      return ConstantType::kInt32;
    case SPVC_BASETYPE_UINT32:
      return ConstantType::kUint32;
    case SPVC_BASETYPE_INT64:
      return ConstantType::kInt64;
    case SPVC_BASETYPE_UINT64:
      return ConstantType::kUint64;
    case SPVC_BASETYPE_FP16:
      return ConstantType::kFloat16;
    case SPVC_BASETYPE_FP32:
      return ConstantType::kFloat32;
    case SPVC_BASETYPE_FP64:
      return ConstantType::kFloat64;
    default:
      return std::nullopt;
  }
}

// The bits of a constant, without those that SPIR-V extends a narrow one by.
uint64_t DefaultOf(spvc_constant constant, ConstantType type) {
  const uint32_t bits = ConstantBits(type);
  if (bits == 64) {  // the C API reads all 64 bits as a double only
    return std::bit_cast<uint64_t>(
        spvc_constant_get_scalar_fp64(constant, 0, 0));
  }
  const uint64_t word = spvc_constant_get_scalar_u32(constant, 0, 0);
  return word & ((uint64_t{1} << bits) - 1);
}

absl::StatusOr<ReflectedConstant> Reflect(
    spvc_compiler compiler, const spvc_specialization_constant& found) {
  const spvc_constant constant =
      spvc_compiler_get_constant_handle(compiler, found.id);
  const std::optional<ConstantType> type =
      TypeFor(spvc_type_get_basetype(spvc_compiler_get_type_handle(
          compiler, spvc_constant_get_type(constant))));
  if (!type) {
    return absl::InvalidArgumentError(
        fmt::format("constant_id {} is of a type that no constant can have",
                    found.constant_id));
  }
  const char* const name = spvc_compiler_get_name(compiler, found.id);
  return ReflectedConstant{
      found.constant_id,
      Shorten(ToValidUtf8(name == nullptr ? "" : name), limits::kNameBytes),
      *type, DefaultOf(constant, *type), false};
}

// Makes one of two constants that share an id.
absl::Status Merge(const ReflectedConstant& other, ReflectedConstant& merged) {
  if (other.type != merged.type) {
    return absl::InvalidArgumentError(
        fmt::format("constant_id {} has two types: {} `{}` and {} `{}`",
                    merged.id, ConstantTypeName(merged.type), merged.name,
                    ConstantTypeName(other.type), other.name));
  }
  if (!other.name.empty() && !merged.name.empty() &&
      other.name != merged.name) {
    return absl::InvalidArgumentError(
        fmt::format("constant_id {} has two names: `{}` and `{}`", merged.id,
                    merged.name, other.name));
  }
  if (merged.name.empty()) {
    merged = other;
  }
  return absl::OkStatus();
}

// The ids that are left when code that changes nothing is gone. Not
// EliminateDeadConstant: it takes a workgroup's size for unused. No inlining:
// that can take for ever (KNOWN_FAULTS 2), so a constant that is passed to a
// function which ignores it still counts as used.
std::set<uint32_t> LiveIds(std::span<const uint32_t> spirv) {
  spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_3);
  optimizer.RegisterPass(spvtools::CreateEliminateDeadFunctionsPass())
      .RegisterPass(spvtools::CreateAggressiveDCEPass());
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);
  std::vector<uint32_t> live;
  if (!optimizer.Run(spirv.data(), spirv.size(), &live, options)) {
    return SpecializationIds(spirv);
  }
  return SpecializationIds(live);
}

std::array<std::optional<uint32_t>, 3> WorkgroupSizeIds(
    const ParsedModule& module) {
  spvc_specialization_constant size[3] = {};
  spvc_compiler_get_work_group_size_specialization_constants(
      module.compiler(), &size[0], &size[1], &size[2]);
  std::array<std::optional<uint32_t>, 3> ids;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (size[i].id != 0) {
      ids[i] = size[i].constant_id;
    }
  }
  return ids;
}

}  // namespace

absl::StatusOr<std::vector<ReflectedConstant>> ReflectConstants(
    std::span<const uint32_t> spirv) {
  KILN_ASSIGN_OR_RETURN(const ParsedModule module, ParsedModule::Parse(spirv));
  const spvc_specialization_constant* found = nullptr;
  size_t count = 0;
  if (spvc_compiler_get_specialization_constants(module.compiler(), &found,
                                                 &count) != SPVC_SUCCESS) {
    return absl::InvalidArgumentError(
        "SPIRV-Cross cannot list the specialization constants");
  }
  std::map<uint32_t, ReflectedConstant> by_id;
  for (const auto& each : std::span(found, count)) {
    KILN_ASSIGN_OR_RETURN(ReflectedConstant constant,
                          Reflect(module.compiler(), each));
    const auto [merged, is_new] = by_id.try_emplace(constant.id, constant);
    if (!is_new) {
      KILN_RETURN_IF_ERROR(Merge(constant, merged->second));
    }
  }
  std::set<uint32_t> live = LiveIds(spirv);
  for (const std::optional<uint32_t>& id : WorkgroupSizeIds(module)) {
    if (id) {
      live.insert(*id);
    }
  }
  std::vector<ReflectedConstant> constants;
  for (auto& [id, constant] : by_id) {
    constant.used = live.contains(id);
    constants.push_back(std::move(constant));
  }
  return constants;
}

absl::StatusOr<std::array<std::optional<uint32_t>, 3>> WorkgroupSizeIds(
    std::span<const uint32_t> spirv) {
  KILN_ASSIGN_OR_RETURN(const ParsedModule module, ParsedModule::Parse(spirv));
  return WorkgroupSizeIds(module);
}

}  // namespace kiln::shaders
