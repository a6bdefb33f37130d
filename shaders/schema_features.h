// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of CompareSchema (schema_check.h) that is about feature bits: each
// bit of the schema and its `const bool Uses<Name>`. Internal.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "proto/program.h"
#include "shaders/module_constants.h"
#include "shaders/schema_text.h"

namespace kiln::shaders {

using Disagreements = std::vector<std::string>;

// "features.glsl:14".
std::string WhereOf(const TextPlace& place);

// Word `index` of a mask: bits 32 * index and up.
uint32_t FeatureWord(FeatureMask mask, size_t index);

// Thread-compatible. Lifetime: refers to both arguments of the constructor.
class FeatureComparison {
 public:
  FeatureComparison(const Program& program, Disagreements& found)
      : program_(program), found_(found) {}

  // Compares a stage's booleans with the bits. Changes the values of `module`.
  void AddModule(std::string_view stage, ModuleConstants& module);

  void AddText(const ShaderText& text);

  // Reports the bits that nothing added so far has a boolean for.
  void Finish();

 private:
  struct Behaviour;

  static std::vector<Behaviour> BooleansOf(const ModuleConstants& module);
  bool SetFeatures(FeatureMask mask, std::string_view stage,
                   ModuleConstants& module);
  void CompareBehaviour(std::string_view stage, const Behaviour& boolean);
  std::string BitsText(FeatureMask mask) const;

  const Program& program_;
  Disagreements& found_;
  std::set<std::string> in_modules_;  // names of features with a boolean
  std::set<std::string> in_text_;
};

}  // namespace kiln::shaders
