// SPDX-License-Identifier: Apache-2.0
#include "client/library.h"

#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "absl/status/status.h"
#include "client/library_table.h"
#include "proto/bytes.h"
#include "proto/status_macros.h"

namespace kiln::client {
namespace {

Digest DigestOf(const std::vector<uint32_t>& words) {
  return Digest::Of(AsBytes(std::span<const uint32_t>(words)));
}

}  // namespace

ShaderOwner::ShaderOwner(std::shared_ptr<LibraryTable> table,
                         const ResolvedShader* shader)
    : table_(std::move(table)), shader_(shader) {}

ShaderOwner::ShaderOwner(ShaderOwner&& other) noexcept
    : table_(std::move(other.table_)),
      shader_(std::exchange(other.shader_, nullptr)) {}

ShaderOwner& ShaderOwner::operator=(ShaderOwner&& other) noexcept {
  ShaderOwner taken(std::move(other));  // first: it may be this
  std::swap(table_, taken.table_);
  std::swap(shader_, taken.shader_);
  return *this;
}

ShaderOwner::~ShaderOwner() {
  if (shader_ != nullptr) {
    table_->DropOwner(shader_->module);
  }
}

ShaderHandle ShaderOwner::handle() const {
  return shader_ == nullptr ? ShaderHandle() : shader_->module;
}

ShaderLibrary::ShaderLibrary() : table_(std::make_shared<LibraryTable>()) {}

ShaderLibrary::~ShaderLibrary() = default;

ShaderHandle ShaderLibrary::Get(std::string_view name) {
  return name.empty() ? ShaderHandle() : table_->Get(name);
}

absl::StatusOr<ShaderOwner> ShaderLibrary::Commit(ShaderCode code) {
  if (code.spirv == nullptr || code.spirv->empty()) {
    return absl::InvalidArgumentError("shader committed without words");
  }
  if (code.digest.is_none()) {
    code.digest = DigestOf(*code.spirv);
  }
  const auto words = code.spirv;
  ShaderOwner owner(table_, table_->Intern(code));
  if (!owner) {
    return absl::ResourceExhaustedError("no shader id is left");
  }
  // A digest that lies must not make one shader pass for another.
  const ShaderCode& kept = owner.shader()->code;
  if (kept.spirv != words && *kept.spirv != *words) {
    return absl::InvalidArgumentError(
        fmt::format("module {}: committed with other words than before",
                    kept.digest.ShortHex()));
  }
  return owner;
}

absl::StatusOr<ShaderOwner> ShaderLibrary::Commit(std::string_view name,
                                                  ShaderCode code) {
  if (name.empty()) {
    return absl::InvalidArgumentError("shader committed under an empty name");
  }
  KILN_ASSIGN_OR_RETURN(ShaderOwner owner, Commit(std::move(code)));
  KILN_RETURN_IF_ERROR(table_->Bind(name, owner.handle()));
  return owner;
}

ShaderOwner ShaderLibrary::Own(ShaderHandle handle) {
  return ShaderOwner(table_, table_->AddOwner(handle));
}

void ShaderLibrary::Release(ShaderOwner owner) {
  ShaderOwner gone(std::move(owner));
}

const ResolvedShader* ShaderLibrary::Resolve(ShaderHandle handle) const {
  return table_->slots().Read(handle);
}

uint32_t ShaderLibrary::Generation(ShaderHandle handle) const {
  return static_cast<uint32_t>(table_->slots().State(handle));
}

uint64_t ShaderLibrary::PipelineHash(ShaderHandle handle) const {
  return table_->slots().State(handle);
}

void ShaderLibrary::EndFrame() {
  table_->EndFrame();
}

LibraryCounts ShaderLibrary::counts() const {
  return table_->counts();
}

}  // namespace kiln::client
