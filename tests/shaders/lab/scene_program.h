// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proto/program.h"
#include "proto/program_file.h"

namespace kiln::lab {

// The scene shader as it ships. Ends the test if it does not load.
inline Program SceneProgram() {
  return LoadProgramFile(KILN_SOURCE_DIR "/shaders/scene/scene.program.toml")
      .value();
}

}  // namespace kiln::lab
