// SPDX-License-Identifier: Apache-2.0

// kiln-demo: runs the demonstration in a private folder, see demonstration.h.

#include <stdlib.h>

#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>

#include "client/demo/demonstration.h"
#include "proto/target.h"

namespace {

int Main(int argc, char** argv) {
  kiln::demo::DemonstrationOptions options;
  options.target = kiln::kDefaultTarget;
  std::error_code error;
  options.binaries =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  bool keep = false;
  CLI::App app(
      "kiln-demo starts a private kilnd and two engine processes, a game and "
      "an editor, that ask\n"
      "for the same variants, shows what each cost and gained, and checks that "
      "each was compiled\n"
      "once. Then it edits a copy of the shaders under the running engines. "
      "Exit code 0 when every\n"
      "claim held.",
      "kiln-demo");
  app.add_option("--program", options.program, "scene.program.toml")
      ->required();
  app.add_option("--target", options.target, "device to compile for")
      ->capture_default_str();
  app.add_flag("--json", options.json,
               "one JSON object a line instead of tables");
  app.add_flag("--any-speed", options.any_speed,
               "claims about time decide nothing: for busy machines");
  app.add_flag("--keep", keep,
               "keep the folder with socket, state and logs, and print it");
  CLI11_PARSE(app, argc, argv);

  std::string folder =
      (std::filesystem::temp_directory_path(error) / "kiln-demo-XXXXXX")
          .string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::cerr << "kiln-demo: cannot make a folder for the demonstration\n";
    return 1;
  }
  options.folder = folder;
  const absl::Status status = kiln::demo::RunDemonstration(options);
  if (!status.ok()) {
    std::cerr << "kiln-demo: " << status.message() << '\n';
  }
  if (keep || !status.ok()) {
    std::cerr << "kiln-demo: logs and state are in " << folder << '\n';
  } else {
    std::filesystem::remove_all(folder, error);
  }
  return status.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {  // libraries throw what we do not
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "kiln-demo: " << error.what() << '\n';
    return 1;
  }
}
