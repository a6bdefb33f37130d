// SPDX-License-Identifier: Apache-2.0

// kiln-worker: compiles for one target, as kilnd's child or alone from a file.
// Alone (`--job F --out G`) it is what build farms and bug reports run.

#include "daemon/worker/vulkan_backend.h"
#include "daemon/worker/worker_main.h"

int main(int argc, char** argv) {
  return kiln::daemon::RunWorker(argc, argv, kiln::daemon::OpenVulkan);
}
