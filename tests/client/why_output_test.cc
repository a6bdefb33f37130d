// SPDX-License-Identifier: Apache-2.0
#include "client/cli/why_output.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kiln/v1/kiln.pb.h"
#include "proto/digest.h"

namespace kiln::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

const std::string kKey(32, '\x12');
const std::string kNearest(32, '\x9f');
const std::string kTarget(32, '\xab');

void Add(v1::ExplainResponse& response, const char* kind, const char* name,
         const char* stored, const char* asked) {
  v1::Difference* out = response.add_differences();
  out->set_kind(kind);
  out->set_name(name);
  out->set_stored(stored);
  out->set_asked(asked);
}

v1::ExplainResponse Response() {
  v1::ExplainResponse response;
  response.set_label("scene opaque/none/alpha Detail");
  response.set_key_id(kKey);
  response.set_target(kTarget);
  response.set_state("missing");
  response.mutable_nearest()->set_key_id(kNearest);
  response.mutable_nearest()->set_target(kTarget);
  response.mutable_nearest()->set_label(response.label());
  response.set_entries_searched(7);
  return response;
}

TEST(WhyOutputTest, DifferencesAreAlignedUnderTheNearestEntry) {
  v1::ExplainResponse response = Response();
  Add(response, "file", "engine/common.glsl", "line 12: \"k = 1.0;\"",
      "line 12: \"k = 2.0;\"");
  Add(response, "define", "QUALITY", "", "\"3\"");
  Add(response, "define", "and 5 more", "", "");
  EXPECT_EQ(
      WhyText(response, "radv:vangogh"),
      "scene opaque/none/alpha Detail  key 121212121212  target abababababab "
      "(radv:vangogh)  (missing)\n"
      "nearest stored entry: key 9f9f9f9f9f9f  same choices and device, other "
      "sources\n"
      "  file    engine/common.glsl  line 12: \"k = 1.0;\" -> line 12: \"k = "
      "2.0;\"\n"
      "  define  QUALITY             (none) -> \"3\"\n"
      "  define  and 5 more");
}

TEST(WhyOutputTest, OtherTargetAndLabelOfTheNearestAreShown) {
  v1::ExplainResponse response = Response();
  response.mutable_nearest()->set_target(std::string(32, '\xcd'));
  response.mutable_nearest()->set_label("scene opaque/none/alpha none");
  Add(response, "key", "feature Detail", "off", "on");
  Add(response, "device feature", "int16", "", "enabled");
  const std::string text = WhyText(response, "");
  EXPECT_THAT(text, HasSubstr("target abababababab  (missing)"));
  EXPECT_THAT(text,
              HasSubstr("key 9f9f9f9f9f9f  target cdcdcdcdcdcd  scene "
                        "opaque/none/alpha none  same sources, other choices "
                        "and device\n"));
}

TEST(WhyOutputTest, NearestOfAStoredKeyMayBeNewer) {
  v1::ExplainResponse response = Response();
  response.set_state("stored");
  EXPECT_THAT(WhyText(response, ""),
              HasSubstr("\nnearest stored entry, older or newer: key "
                        "9f9f9f9f9f9f  "));
}

TEST(WhyOutputTest, BothTargetsAreShownTheSameWay) {
  v1::ExplainResponse response = Response();
  response.mutable_nearest()->set_target(std::string(32, '\xcd'));
  EXPECT_THAT(WhyText(response, "radv:vangogh"),
              AllOf(HasSubstr("target abababababab (radv:vangogh)  "),
                    HasSubstr("target cdcdcdcdcdcd  ")));
  EXPECT_THAT(WhyText(response, ""), HasSubstr("target abababababab  "));
}

TEST(WhyOutputTest, NothingComparableIsSaidWithTheCount) {
  v1::ExplainResponse response = Response();
  response.clear_nearest();
  response.set_state("failed");
  response.set_message("small.frag:3: no such variable");
  EXPECT_THAT(WhyText(response, "lavapipe"),
              EndsWith("(failed)\nsmall.frag:3: no such variable\nnothing "
                       "comparable is stored, among 7 entries"));
}

TEST(WhyOutputTest, JsonHasEveryFieldAndNullWhereNothingIsNear) {
  v1::ExplainResponse response = Response();
  Add(response, "driver", "driver_build", "b1", "b2");
  const nlohmann::json object = WhyJson(response);
  EXPECT_EQ(object["key"].get<std::string>().size(), 2 * Digest::kBytes);
  EXPECT_EQ(object["key"].get<std::string>().substr(0, 4), "1212");
  EXPECT_EQ(object["nearest"]["label"], response.label());
  EXPECT_EQ(object["differences"][0], (nlohmann::json{{"kind", "driver"},
                                                      {"name", "driver_build"},
                                                      {"stored", "b1"},
                                                      {"asked", "b2"}}));
  EXPECT_EQ(object["entries_searched"], 7);
  EXPECT_FALSE(object.contains("message"));
  response.clear_nearest();
  EXPECT_TRUE(WhyJson(response)["nearest"].is_null());
}

}  // namespace
}  // namespace kiln::cli
