// SPDX-License-Identifier: Apache-2.0
#pragma once

// The schema version of a database: what is refused, what is deleted when an
// older one is opened, and which column families there have to be. The rules
// are in FORMAT.md, "Evolution". Internal to storage/.

#include <string_view>

#include "absl/status/status.h"
#include "storage/database.h"

namespace kiln::storage {

// Makes a database of this schema out of an empty one or one of an older
// schema; one of this schema is left as it is. A kill in between is made good
// by the next call. `folder` is for messages.
// Errors: FailedPrecondition: a newer schema; nothing was changed. DataLoss:
// the schema row is damaged. As Database::Write. Blocks: disk.
absl::Status ApplySchema(Database& database, std::string_view folder);

}  // namespace kiln::storage
