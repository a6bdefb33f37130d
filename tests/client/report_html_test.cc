// SPDX-License-Identifier: Apache-2.0

// The register report as text and as a page, from invented figures.

#include "client/cli/report_html.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/report_table.h"
#include "proto/text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::TempDir;

ReportRow Row(const std::string& variant, double registers, double waves) {
  ReportRow row;
  row.variant = variant;
  row.whole = variant == "whole";
  row.figures[Figure::kRegisters] = registers;
  row.figures[Figure::kWaves] = waves;
  row.whole_figures[Figure::kRegisters] = 128;
  row.whole_figures[Figure::kWaves] = 8;
  return row;
}

Report SampleReport() {
  ReportRow broken;
  broken.variant = "Height";
  broken.failure = "scene.frag:3: no such variable";
  return {"scene",
          {{"radv:vangogh",
            "RADV VANGOGH",
            "radv Mesa 22.3.6",
            {{"opaque",
              {Row("whole", 128, 8), Row("none", 32, 32), Row("Detail", 80, 12),
               broken}}}}}};
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ReportDataTest, HalfTheRegistersAndTwiceTheWavesAreMarked) {
  EXPECT_THAT(Row("Detail", 64, 15).Marks(), ElementsAre("half registers"));
  EXPECT_THAT(Row("Detail", 65, 16).Marks(), ElementsAre("twice the waves"));
  EXPECT_THAT(Row("Detail", 65, 15).Marks(), IsEmpty());
  EXPECT_EQ(Row("none", 32, 32).Marks().size(), 2u);
  EXPECT_THAT(Row("whole", 128, 8).Marks(), IsEmpty());
  const ReportTable& table = SampleReport().targets[0].tables[0];
  EXPECT_EQ(table.Variants(), 2u) << "neither the whole shader nor a failure";
  EXPECT_EQ(table.Marked(), 1u);
}

TEST(ReportDataTest, FigureThatIsMissingOrZeroHasNoRatio) {
  ReportRow row = Row("Detail", 64, 16);
  EXPECT_EQ(row.Ratio(Figure::kInstructions), std::nullopt);
  row.figures[Figure::kSpills] = 4;
  row.whole_figures[Figure::kSpills] = 0;
  EXPECT_EQ(row.Ratio(Figure::kSpills), std::nullopt);
  row.whole_figures[Figure::kRegisters] = std::nullopt;
  row.whole_figures[Figure::kWaves] = std::nullopt;
  EXPECT_THAT(row.Marks(), IsEmpty());
}

TEST(ReportTableTest, TextShowsFiguresRatiosMarksAndCounts) {
  const std::string text = TargetReportText(SampleReport().targets[0]);
  EXPECT_THAT(text, AllOf(HasSubstr("radv:vangogh: RADV VANGOGH, radv Mesa"),
                          HasSubstr("32 0.25x"), HasSubstr("32 4.00x"),
                          HasSubstr("n/a"),
                          HasSubstr("none  (half registers, twice the waves)"),
                          HasSubstr("Height  FAILED: scene.frag:3"),
                          HasSubstr("1 of 2 opaque")));
  EXPECT_THAT(TargetReportText({"lavapipe", "llvmpipe", "", {}}),
              HasSubstr("nothing to compare"));
}

TEST(ReportHtmlTest, PageHasAHeadATableAndABarForEachFigure) {
  const std::string page = ReportPage(SampleReport());
  EXPECT_THAT(
      page,
      AllOf(HasSubstr("<!DOCTYPE html>"), HasSubstr("<meta charset=\"utf-8\">"),
            HasSubstr("prefers-color-scheme: dark"), HasSubstr("width:25.0%"),
            HasSubstr("0.25x"), HasSubstr("half registers"), HasSubstr("n/a"),
            HasSubstr("no such variable")));
}

TEST(ReportHtmlTest, NamesFromFilesAndDriversAreEscaped) {
  const std::string evil = "<script>alert(\"1\")</script>&'\xFF\x01";
  Report report = SampleReport();
  report.program = evil;
  report.targets[0].target = evil;
  report.targets[0].device = evil;
  report.targets[0].driver = evil;
  report.targets[0].tables[0].kind = evil;
  report.targets[0].tables[0].rows[1].variant = evil;
  report.targets[0].tables[0].rows[3].failure = evil;
  const std::string page = ReportPage(report);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("alert(\"")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&quot;1&quot;)"));
  EXPECT_TRUE(IsValidUtf8(page));
  size_t count = 0;
  for (size_t at = page.find("&lt;script"); at != page.npos;
       at = page.find("&lt;script", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 8u) << "title, head, and the six names of the target";
}

TEST(ReportHtmlTest, NothingComesFromElsewhere) {
  const std::string page = ReportPage(SampleReport());
  for (const char* word : {"http:", "https:", "src=", "href=", "url(",
                           "@import", "<script", "<link", "<img", "<iframe"}) {
    EXPECT_THAT(page, Not(HasSubstr(word)));
  }
}

TEST(ReportHtmlTest, PageWithoutDataIsStillAPage) {
  EXPECT_THAT(ReportPage({"scene", {}}),
              AllOf(HasSubstr("No target was open"), HasSubstr("</html>")));
  EXPECT_THAT(ReportPage({"", {{"lavapipe", "", "", {}}}}),
              HasSubstr("No variant was measured"));
  // All figures missing or zero: no division, no bar.
  ReportRow row;
  row.variant = "whole";
  row.figures[Figure::kWaves] = 0;
  EXPECT_THAT(ReportPage({"s", {{"t", "d", "r", {{"opaque", {row}}}}}}),
              Not(HasSubstr("class=\"bar\"")));
}

TEST(ReportHtmlTest, FileIsReplacedWholeOrNotAtAll) {
  const TempDir folder;
  const auto path = folder / "report.html";
  ASSERT_OK(WriteWholeFile(path, "first, a long one"));
  ASSERT_OK(WriteWholeFile(path, "second"));
  EXPECT_EQ(ReadFile(path), "second");
  EXPECT_THAT(WriteWholeFile(folder / "none" / "report.html", "x"),
              testing::StatusIs(absl::StatusCode::kPermissionDenied,
                                (folder / "none" / "report.html").string()));
  EXPECT_FALSE(WriteWholeFile(folder.path(), "x").ok());
  EXPECT_FALSE(WriteWholeFile("/dev/null", "x").ok())
      << "a device would be replaced by a file";
  std::filesystem::create_symlink(path, folder / "link.html");
  ASSERT_OK(WriteWholeFile(folder / "link.html", "third"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.html"));
  EXPECT_EQ(ReadFile(path), "third");
  const auto files =
      std::distance(std::filesystem::directory_iterator(folder.path()), {});
  EXPECT_EQ(files, 2) << "no draft is left behind";
}

}  // namespace
}  // namespace kiln::cli
