// SPDX-License-Identifier: Apache-2.0
#include "client/demo/demonstration.h"

#include "client/demo/cast.h"
#include "client/demo/live_act.h"
#include "client/demo/narrator.h"
#include "client/demo/rounds.h"
#include "proto/status_macros.h"

namespace kiln::demo {

absl::Status RunDemonstration(const DemonstrationOptions& options) {
  const Cast cast(options);
  Narrator narrator(options.json, options.any_speed);
  KILN_RETURN_IF_ERROR(cast.CopyScene());
  KILN_RETURN_IF_ERROR(PlayRounds(options, cast, narrator));
  KILN_RETURN_IF_ERROR(PlayLiveAct(options, cast, narrator));
  narrator.Print({{"event", "verdict"}, {"ok", narrator.failure().ok()}});
  return narrator.failure();
}

}  // namespace kiln::demo
