// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which files a worker must read to load any Vulkan driver of this machine,
// and which devices it must write. Everything else (homes, the daemon's state,
// temporary folders, secrets in /etc) is left out.

#include "daemon/worker/landlock.h"

namespace kiln::daemon {

// System folders, what the loader's environment variables name
// (VK_DRIVER_FILES, VK_ICD_FILENAMES, VK_LAYER_PATH, XDG_DATA_DIRS,
// LD_LIBRARY_PATH), and the folders of the libraries that the manifests there
// name by path. /proc as a whole: Landlock itself keeps the memory,
// environment and descriptors of processes outside closed.
// Thread-compatible (getenv). Blocks: reads some manifests.
FileAccess FilesOfDrivers();

}  // namespace kiln::daemon
