// SPDX-License-Identifier: Apache-2.0
#pragma once

// The shader library: what SPIR-V each shader name stands for right now.
//
//   names, by Get                        modules, by Commit
//   "lit.frag"    generation 3 --.
//                                 >-->   [SPIR-V 3f2a..]  <-- owners
//   "water.frag"  generation 1 --'
//
// A *module* is bytecode: immutable, kept once however often it is committed,
// and identical bytecode has one handle. A *name* is whatever text it was
// committed under (a name in the search roots, a full virtual path) and stands
// for one module at a time; a recompile makes it stand for another. Two names
// may share a module and part again at the next edit, which is why a name has
// a handle of its own and does not borrow its module's.
//
//   ShaderHandle lit = library.Get("lit.frag");       // load; keep it
//   owner = library.Commit("lit.frag", code).value(); // loader, each compile
//   if (auto* shader = library.Resolve(lit)) { ... }  // each draw; null: fall
//                                                     // back, Get again
//   library.EndFrame();                               // main loop
//
// The rules:
//  1. Handles are weak: copying or keeping one keeps nothing alive.
//  2. A module lives while it has an owner. Without one it ends at the next
//     EndFrame, and with it the names that stand for it then. Until then it
//     resolves, and a Commit or Own saves it.
//  3. Once ended, a handle is null for ever; Get and Commit give a new one.
//  4. A name's generation is 0 until the first Commit, and goes up by one with
//     each that changes its module: the same bytecode again changes nothing,
//     going back to older bytecode does. A module's generation is always 1.
//  5. The pipeline hash is (id, generation). No id is given twice in a process,
//     so no two states ever have the same hash.
//  6. A compile that failed is not committed: the name keeps what it has.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/shader_handle.h"

namespace kiln::client {

class LibraryTable;

// Keeps one module alive. Move-only; the destructor releases. May outlive its
// library. Thread-compatible; different owners may be used by any threads.
class ShaderOwner {
 public:
  ShaderOwner() = default;  // owns nothing
  ShaderOwner(ShaderOwner&& other) noexcept;
  ShaderOwner& operator=(ShaderOwner&& other) noexcept;
  ShaderOwner(const ShaderOwner&) = delete;  // `Own` makes another
  ShaderOwner& operator=(const ShaderOwner&) = delete;
  ~ShaderOwner();

  explicit operator bool() const { return shader_ != nullptr; }

  // The module's handle; null when it owns nothing.
  ShaderHandle handle() const;

  // Null when it owns nothing. Lifetime: this owner's, whatever EndFrame does.
  const ResolvedShader* shader() const { return shader_; }

 private:
  friend class ShaderLibrary;
  ShaderOwner(std::shared_ptr<LibraryTable> table,
              const ResolvedShader* shader);

  std::shared_ptr<LibraryTable> table_;  // shared: owners may outlive a library
  const ResolvedShader* shader_ = nullptr;
};

// How much a library holds.
struct LibraryCounts {
  size_t names = 0;
  size_t modules = 0;
  size_t bytes = 0;  // of the modules' words

  friend bool operator==(const LibraryCounts&, const LibraryCounts&) = default;
};

// Thread-safe. Nothing waits for disk or network. Resolve, Generation and
// PipelineHash take no lock; the others take one for as long as a table look-up
// takes.
class ShaderLibrary {
 public:
  ShaderLibrary();
  ~ShaderLibrary();
  ShaderLibrary(const ShaderLibrary&) = delete;  // handles belong to one
  ShaderLibrary& operator=(const ShaderLibrary&) = delete;

  // The handle that stands for `name`. A new name starts with generation 0 and
  // costs some 200 bytes until it ends (rule 2), so keep the handle.
  // Returns: null for an empty name, or when no id is left.
  ShaderHandle Get(std::string_view name);

  // Enters bytecode, or finds it, and makes `name` stand for it, at once: to
  // keep choices put while a frame records, commit between frames.
  // Returns: an owner of the module; it equals that of any other commit of
  // identical bytecode. Letting go of it right away gives the bytecode until
  // EndFrame.
  // Requires: code.digest is none, or right. If none, the calling thread hashes
  // the words (1 ms per 500 KB).
  // Errors: InvalidArgument without a name or words, or when other words are
  // here under that digest; ResourceExhausted after 2^32 ids in this process,
  // or as many generations of this name. The name then keeps what it has.
  absl::StatusOr<ShaderOwner> Commit(std::string_view name, ShaderCode code);

  // The same without a name, for bytecode that is made, not loaded.
  absl::StatusOr<ShaderOwner> Commit(ShaderCode code);

  // Another owner for the module that `handle` stands for now. What outlives a
  // frame (a pipeline compile on another thread) needs one.
  // Returns: one that owns nothing, if Resolve would return null.
  ShaderOwner Own(ShaderHandle handle);

  // Gives up `owner`, as its destructor does. Never frees: EndFrame does.
  static void Release(ShaderOwner owner);

  // Returns: null for what is not compiled or has ended.
  // Lifetime: until the next EndFrame begins; what it points to never changes.
  const ResolvedShader* Resolve(ShaderHandle handle) const;

  // 0 for what is not compiled or has ended.
  uint32_t Generation(ShaderHandle handle) const;

  // (id, generation), also of a name that is not compiled; 0 for what has
  // ended. A commit may fall between two calls: for the hash of what Resolve
  // gave, ask that.
  uint64_t PipelineHash(ShaderHandle handle) const;

  // The frame boundary: ends every module without an owner (rule 2).
  // Requires: no thread goes on using a pointer that Resolve gave. Everything
  // but Resolve may be called meanwhile.
  void EndFrame();

  LibraryCounts counts() const;

 private:
  const std::shared_ptr<LibraryTable> table_;
};

}  // namespace kiln::client
