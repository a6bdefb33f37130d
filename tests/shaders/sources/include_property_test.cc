// SPDX-License-Identifier: Apache-2.0

// The scan against the compiler itself: whatever text glslang includes, the
// scan has found; and where no #if decides, it has found nothing else.

#include <random>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "proto/program.h"
#include "shaders/sources/include_scan.h"
#include "tests/shaders/sources.h"

namespace kiln::sources {
namespace {

constexpr int kFiles = 4;
constexpr int kPrograms = 3000;

// No piece ends within an #include's name: glslang reads such a name across
// lines, and then refuses it.
constexpr std::string_view kPieces[] = {
    "#include \"f0.glsl\"\n",
    "#include <f1.glsl>",
    "#include \"f2.glsl\" ",
    "# /**/ include\t",
    "\"f3.glsl\"",
    "<f3.glsl>",
    "#inc\\\nlude \"f1.glsl\"",
    "/*",
    "*/",
    "//",
    "/",
    "*",
    "\n",
    "\n",
    "\r\n",
    "\r",
    "\\\n",
    "\\\r\n",
    "\\",
    " ",
    "\t",
    "float x;\n",
    "s\"a /* b\" ",
    "s\"\\\"//\" ",
    "#define M /* \n",
    "#define N \"//\" \\\n",
    "#line 7\n",
    "#",
    "#pragma p \"/*\"\n",
    "'",
};

constexpr std::string_view kConditions[] = {"\n#if 0\n", "\n#ifdef GL_SPIRV\n",
                                            "\n#else\n", "\n#endif\n",
                                            "\n#ifndef M\n"};

struct RandomText {
  std::string text;
  bool conditions = false;
};

RandomText MakeText(std::mt19937& random) {
  RandomText made;
  made.conditions = random() % 2 == 0;
  made.text = "#version 450\n";
  const size_t length = 1 + random() % 16;
  for (size_t i = 0; i < length; ++i) {
    if (made.conditions && random() % 5 == 0) {
      made.text += kConditions[random() % std::size(kConditions)];
    } else {
      made.text += kPieces[random() % std::size(kPieces)];
    }
  }
  made.text += "\n";
  return made;
}

// Each file says that it was opened, in a way that does not end the compile.
std::string FileName(int i) {
  return fmt::format("f{}.glsl", i);
}

std::vector<SourceFile> Files() {
  std::vector<SourceFile> files;
  for (int i = 0; i < kFiles; ++i) {
    files.push_back({FileName(i), fmt::format("#error opened_{}\n", i)});
  }
  return files;
}

TEST(IncludePropertyTest, WhatTheCompilerOpensTheScanHasFound) {
  std::mt19937 random(20231130);
  size_t opened_by_both = 0;
  size_t exact = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const RandomText made = MakeText(random);
    std::set<std::string> scanned;
    for (const IncludeDirective& include : ScanIncludes(made.text)) {
      scanned.insert(include.name);
    }
    const std::string diagnostics =
        shaders::CompileFragment(made.text, Files()).diagnostics;
    std::set<std::string> opened;
    for (int file = 0; file < kFiles; ++file) {
      if (diagnostics.find(fmt::format("opened_{}", file)) !=
          std::string::npos) {
        opened.insert(FileName(file));
      }
    }
    for (const std::string& name : opened) {
      ASSERT_TRUE(scanned.contains(name)) << name << " in:\n"
                                          << made.text << "\n"
                                          << diagnostics;
      ++opened_by_both;
    }
    // Any other error may be why the compiler did not look further.
    bool other_error = false;
    for (size_t at = diagnostics.find("error: "); at != std::string::npos;
         at = diagnostics.find("error: ", at + 1)) {
      other_error |= !std::string_view(diagnostics)
                          .substr(at)
                          .starts_with("error: '#error' : opened_");
    }
    if (!made.conditions && !other_error) {
      scanned.erase("");
      EXPECT_EQ(scanned, opened) << made.text << "\n" << diagnostics;
      exact += opened.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(opened_by_both, kPrograms / 20u) << "the property says too little";
  EXPECT_GT(exact, kPrograms / 100u);
  RecordProperty("opened", static_cast<int>(opened_by_both));
  RecordProperty("exact", static_cast<int>(exact));
}

}  // namespace
}  // namespace kiln::sources
