// SPDX-License-Identifier: Apache-2.0
#pragma once

// What turns one stage of a program into SPIR-V, one front end a language.
// Internal to this folder: everybody else calls CompileStage (compiler.h),
// which holds what a front end made to the rules that all modules share.

#include <string>
#include <string_view>

#include "proto/program.h"
#include "shaders/compiler.h"

namespace kiln::shaders {

// Thread-safe, and stateless: one object serves every thread.
class FrontEnd {
 public:
  virtual ~FrontEnd() = default;

  // Makes the module of `source`, a stage of `program` whose file is there.
  // Returns: words that nobody has validated yet, and warnings; or no words and
  // why, each line "path:line: error: text" (SPIR-V has no lines).
  // Blocks: for as long as the compiler takes.
  virtual StageResult Compile(const Program& program, const StageSource& source,
                              const CompileOptions& options) const = 0;

  // What to say of a module that `Compile` made and the validator refuses with
  // `message`, in the author's terms where they are known.
  virtual std::string ExplainInvalid(const Program& program,
                                     const StageSource& source,
                                     std::string_view message) const = 0;
};

// Lifetime: static.
const FrontEnd& FrontEndFor(Language language);

// Those of libshaderc, shaderc_front_end.cc, and spirv_front_end.cc.
const FrontEnd& GlslFrontEnd();
const FrontEnd& HlslFrontEnd();
const FrontEnd& SpirvFrontEnd();

}  // namespace kiln::shaders
