// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the shader library hands out, for the many places that only keep or
// read it. client/library.h says what it means.

#include <compare>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "proto/digest.h"

namespace kiln {
struct ModuleInterface;
}  // namespace kiln

namespace kiln::client {

// A weak reference to a name or a module of one library; in any other library
// it is null. A value: 8 bytes, good as a map key.
struct ShaderHandle {
  uint32_t slot = 0;
  uint32_t id = 0;  // 0: null

  explicit operator bool() const { return id != 0; }

  friend auto operator<=>(const ShaderHandle&, const ShaderHandle&) = default;

  template <typename H>
  friend H AbslHashValue(H h, const ShaderHandle& handle) {
    return H::combine(std::move(h), handle.slot, handle.id);
  }
};

// Bytecode as it is committed.
struct ShaderCode {
  Digest digest;  // SHA-256 of the words; none: Commit computes it
  std::shared_ptr<const std::vector<uint32_t>> spirv;
  // What the words declare, if known. Identical bytecode keeps the first.
  std::shared_ptr<const ModuleInterface> interface;
};

// What a handle stands for. Immutable: a Commit makes a new one, so that code,
// generation and hash always belong together.
struct ResolvedShader {
  uint32_t id = 0;  // the handle's
  uint32_t generation = 0;
  // The module's own handle: the same for all names with this bytecode, for
  // engines that want one pipeline or one batch for all of them.
  ShaderHandle module;
  ShaderCode code;

  uint64_t pipeline_hash() const { return uint64_t{id} << 32 | generation; }
};

}  // namespace kiln::client
