// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the text of a surface shader may say (SPEC section 5). A surface is code
// of someone whom nobody trusts, in a shader that everybody draws with: it may
// compute, and may not make resources, interfaces, entry points, extensions or
// pragmas, nor anything that the code around it would notice (builtins.h).
//
// The text is judged as it is written, by its tokens; comments and strings say
// nothing. Words that make such things are refused wherever they stand, in the
// bodies of macros too, and so are the ways to make words that are not there:
// '##', lines joined in the middle of a word, macros of the shader that bring
// such a word along (SurfaceContext). Beyond that a text must keep to the form
// of outline.h, by which surface_names.h finds every name that it declares.
//
// A text that passes may still not compile.

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "proto/program.h"
#include "shaders/surface/macros.h"

namespace kiln::surface {

// The shader around a surface, as far as it matters to its rules.
// Thread-compatible value; make it once for each snapshot.
struct SurfaceContext {
  // In HLSL, a variable outside functions that is not static is a binding.
  Language language = Language::kGlsl;
  MacroTable macros;  // of every file of the program, and its defines
};

SurfaceContext ContextOf(const Program& program);

// What one #include of a surface names.
struct SurfaceInclude {
  std::string_view name;  // lifetime: that of the text
  bool angled = false;    // <name>, not "name"
  uint32_t line = 0;
};

// Checks `text` for the program that has `slot`. `name` is what its author
// calls it: it begins every message, with the line. A text includes files only
// by name; who gathers them calls CheckIncluded for each.
// Errors: InvalidArgument, "rust:12: '#extension' is not allowed ..."; without
// a line when it is `name` that is not usable.
absl::Status CheckSurface(const SurfaceSlot& slot, std::string_view text,
                          std::string_view name,
                          const SurfaceContext& context = {});

// Checks a file that a surface includes: the same rules, but it may say
// `#pragma once` and need not define the surface's function.
absl::Status CheckIncluded(std::string_view text, std::string_view path,
                           const SurfaceContext& context = {});

// Checks what a program says of its slot: the function is an identifier and
// each parameter has a name. Errors: InvalidArgument naming the field.
absl::Status CheckSlot(const SurfaceSlot& slot);

// Checks a surface's name: 1 to limits::kNameBytes bytes of UTF-8, no control
// characters. Errors: InvalidArgument.
absl::Status CheckSurfaceName(std::string_view name);

// Every #include of a text, in order, also those that an #if may leave out.
std::vector<SurfaceInclude> IncludesOf(std::string_view text);

}  // namespace kiln::surface
