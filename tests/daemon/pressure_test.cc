// SPDX-License-Identifier: Apache-2.0
#include "daemon/pressure.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/worker_pool.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {
namespace {

using std::chrono::milliseconds;
using ::testing::Optional;

class PressureTest : public ::testing::Test {
 protected:
  void Write(const std::string& file, const std::string& avg10) {
    std::ofstream(folder_.path() / file)
        << "some avg10=" << avg10 << " avg60=99.00 avg300=99.00 total=1\n"
        << "full avg10=98.00 avg60=99.00 avg300=99.00 total=1\n";
  }

  Backoff After(const std::string& file, const std::string& avg10) {
    Write(file, avg10);
    now_ += milliseconds(1000);
    return reader_.Sample().backoff;
  }

  testing::TempDir folder_;
  std::chrono::steady_clock::time_point now_{};
  PressureReader reader_{
      {.folder = folder_.path(), .cpu_limit = 40, .memory_limit = 10},
      [this] { return now_; }};
};

TEST_F(PressureTest, KernelWithoutItIsNoPressure) {
  const Pressure& pressure = reader_.Sample();
  EXPECT_FALSE(pressure.cpu || pressure.memory || pressure.io);
  EXPECT_EQ(pressure.backoff, Backoff::kNone);
}

TEST_F(PressureTest, IsReadAtMostOnceASecond) {
  Write("cpu", "1.50");
  EXPECT_THAT(reader_.Sample().cpu, Optional(1.5));
  Write("cpu", "2.50");
  now_ += milliseconds(999);
  EXPECT_THAT(reader_.Sample().cpu, Optional(1.5));
  now_ += milliseconds(1);
  EXPECT_THAT(reader_.Sample().cpu, Optional(2.5));
}

TEST_F(PressureTest, CpuAndIoSlowBackgroundDownAndMemoryHoldsIt) {
  EXPECT_EQ(After("cpu", "39.00"), Backoff::kNone);
  EXPECT_EQ(After("cpu", "41.00"), Backoff::kOneAtATime);
  EXPECT_EQ(After("memory", "11.00"), Backoff::kHold);
  EXPECT_EQ(After("memory", "0.00"), Backoff::kOneAtATime);
  EXPECT_EQ(After("cpu", "0.00"), Backoff::kNone);
  EXPECT_EQ(After("io", "51.00"), Backoff::kOneAtATime);
}

TEST_F(PressureTest, EndsOnlyWellBelowTheLimit) {
  EXPECT_EQ(After("cpu", "41.00"), Backoff::kOneAtATime);
  EXPECT_EQ(After("cpu", "31.00"), Backoff::kOneAtATime);
  EXPECT_EQ(After("cpu", "30.00"), Backoff::kNone);
  EXPECT_EQ(After("cpu", "39.00"), Backoff::kNone);
}

TEST_F(PressureTest, TextThatIsNoPressureIsNone) {
  std::ofstream(folder_.path() / "cpu") << "some avg10=much";
  EXPECT_FALSE(reader_.Sample().cpu);
}

TEST(PressureOptionsTest, TextChangesWhatItNames) {
  const PressureOptions options =
      ReadPressureOptions("folder=/x/y,memory=5,cpu=80.5,io=never,,speed=1");
  EXPECT_EQ(options.folder, "/x/y");
  EXPECT_EQ(options.memory_limit, 5);
  EXPECT_EQ(options.cpu_limit, 80.5);
  EXPECT_EQ(options.io_limit, PressureOptions().io_limit);
  EXPECT_EQ(ReadPressureOptions("").folder, "/proc/pressure");
}

TEST(BackgroundLimitTest, OneWorkerStaysFreeWhileSomebodyPlays) {
  const ActivityCounts nobody{};
  const ActivityCounts playing{1, 5, 5};
  const ActivityCounts loading{0, 1, 1};
  EXPECT_EQ(BackgroundLimit(4, nobody, Backoff::kNone), 4u);
  EXPECT_EQ(BackgroundLimit(4, loading, Backoff::kNone), 4u);
  EXPECT_EQ(BackgroundLimit(4, playing, Backoff::kNone), 3u);
  EXPECT_EQ(BackgroundLimit(1, playing, Backoff::kNone), 1u);
  EXPECT_EQ(BackgroundLimit(4, loading, Backoff::kOneAtATime), 1u);
  EXPECT_EQ(BackgroundLimit(4, loading, Backoff::kHold), 0u);
}

}  // namespace
}  // namespace kiln::daemon
