// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/store_child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/storage/store_fixture.h"

namespace kiln::storage {
namespace {

constexpr const char* kWriter = "--child-write-until-killed";
constexpr const char* kNobody = "--child-open-as-nobody";
constexpr uid_t kNobodyId = 65534;
constexpr int kOut = 1;

// Acknowledges each artifact with one byte on standard output.
int Write(const char* folder) {
  auto store = VariantStore::Open(folder, {});
  const std::vector<Module> modules = {SampleModule("vertex")};
  for (uint32_t features = 0; store.ok(); ++features) {
    if (!(*store)->PutArtifact(SampleArtifact(features), modules).ok() ||
        write(kOut, "a", 1) != 1) {
      break;
    }
  }
  return EXIT_FAILURE;
}

int OpenWithoutRights(const char* folder) {
  if (geteuid() == 0 && (setgid(kNobodyId) != 0 || setuid(kNobodyId) != 0)) {
    return EXIT_FAILURE;
  }
  return static_cast<int>(VariantStore::Open(folder, {}).status().code());
}

// Starts this binary again. Its standard output goes to `out`.
pid_t Spawn(const char* mode, const std::filesystem::path& folder, int out) {
  std::string program = "/proc/self/exe";
  std::string first = mode;
  std::string second = folder.string();
  std::array<char*, 4> arguments = {program.data(), first.data(), second.data(),
                                    nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, kOut);
  pid_t child = -1;
  EXPECT_EQ(posix_spawn(&child, program.c_str(), &actions, nullptr,
                        arguments.data(), environ),
            0);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

}  // namespace

uint32_t WriteUntilKilled(const std::filesystem::path& folder,
                          uint32_t acknowledged) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t child = Spawn(kWriter, folder, ends[1]);
  close(ends[1]);
  uint32_t count = 0;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0;
       (got = read(ends[0], buffer.data(), buffer.size())) > 0;) {
    count += static_cast<uint32_t>(got);
    if (count >= acknowledged) {
      kill(child, SIGKILL);
    }
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
  return count;
}

absl::StatusCode OpenAsNobody(const std::filesystem::path& folder) {
  const pid_t child = Spawn(kNobody, folder, kOut);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  return static_cast<absl::StatusCode>(WEXITSTATUS(status));
}

std::optional<int> RunAsChild(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  if (mode == kWriter) {
    return Write(argv[2]);
  }
  if (mode == kNobody) {
    return OpenWithoutRights(argv[2]);
  }
  return std::nullopt;
}

}  // namespace kiln::storage

int main(int argc, char** argv) {
  if (const auto code = kiln::storage::RunAsChild(argc, argv)) {
    return *code;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
