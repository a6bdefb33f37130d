// SPDX-License-Identifier: Apache-2.0
#include "shaders/sources/root_file.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/limits.h"
#include "tests/shaders/sources/unprivileged.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace kiln::sources {
namespace {

namespace fs = std::filesystem;
using ::kiln::testing::kInvalid;
using ::kiln::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
constexpr auto kMissing = absl::StatusCode::kNotFound;

// KNOWN_FAULTS 25, every kind of it, with both ways to follow a path.
class RootFileTest : public ::testing::TestWithParam<PathWalk> {
 protected:
  RootFileTest() {
    fs::create_directories(folder_ / "root/sub");
    Write("root/a.glsl", "inside");
    Write("root/sub/b.glsl", "below");
    Write("secret.env", "hunter2");
  }

  void Write(const std::string& path, std::string_view text) {
    std::ofstream(folder_ / path, std::ios::binary) << text;
  }

  absl::StatusOr<FileContent> Read(const std::string& path) {
    const auto root = RootFolder::Open((folder_ / "root").string(), GetParam());
    EXPECT_OK(root);
    const absl::Status looked = root->Stat(path).status();
    absl::StatusOr<FileContent> content = root->Read(path);
    EXPECT_EQ(looked.code(), content.status().code()) << looked;
    EXPECT_THAT(std::string(looked.message()), Not(HasSubstr("hunter2")));
    return content;
  }

  testing::TempDir folder_;
};

INSTANTIATE_TEST_SUITE_P(Walks, RootFileTest,
                         ::testing::Values(PathWalk::kKernel,
                                           PathWalk::kComponents),
                         [](const auto& walk) {
                           return walk.param == PathWalk::kKernel
                                      ? "Kernel"
                                      : "Components";
                         });

TEST_P(RootFileTest, FileInsideIsReadWithItsIdentity) {
  ASSERT_OK_AND_ASSIGN(const FileContent content, Read("sub/b.glsl"));
  EXPECT_EQ(content.bytes, "below");

  struct stat found {};

  ASSERT_EQ(stat((folder_ / "root/sub/b.glsl").c_str(), &found), 0);
  EXPECT_EQ(content.identity.inode, found.st_ino);
  EXPECT_EQ(content.identity.size_bytes, 5);
  EXPECT_EQ(content.identity.modified_ns % 1'000'000'000,
            found.st_mtim.tv_nsec);
}

TEST_P(RootFileTest, WhatDoesNotExistIsNotFound) {
  EXPECT_THAT(Read("gone.glsl"), StatusIs(kMissing, "does not exist"));
  EXPECT_THAT(Read("gone/a.glsl"), StatusIs(kMissing));
  EXPECT_THAT(Read("a.glsl/b.glsl"), StatusIs(kMissing));
  EXPECT_THAT(Read(std::string(300, 'n')), StatusIs(kMissing));
}

TEST_P(RootFileTest, PathOutOfTheRootIsRefused) {
  EXPECT_THAT(Read("../secret.env"), StatusIs(kDenied, "leads out"));
  EXPECT_THAT(Read("sub/../../secret.env"), StatusIs(kDenied, "leads out"));
  EXPECT_THAT(Read((folder_ / "secret.env").string()),
              StatusIs(kDenied, "leads out"));
}

TEST_P(RootFileTest, LinkOutOfTheRootIsRefused) {
  fs::create_symlink("../secret.env", folder_ / "root/relative.glsl");
  fs::create_symlink(folder_ / "secret.env", folder_ / "root/absolute.glsl");
  fs::create_directory_symlink("..", folder_ / "root/up");
  EXPECT_FALSE(Read("relative.glsl").ok());
  EXPECT_FALSE(Read("absolute.glsl").ok());
  EXPECT_THAT(Read("up/secret.env"), StatusIs(kDenied));
  EXPECT_FALSE(Read("up/root/a.glsl").ok()) << "it leaves, if only to return";
}

TEST_P(RootFileTest, LinkInsideTheRootIsFollowedByTheKernelOnly) {
  fs::create_symlink("../a.glsl", folder_ / "root/sub/link.glsl");
  fs::create_directory_symlink("sub", folder_ / "root/folder");
  if (GetParam() == PathWalk::kComponents) {
    EXPECT_THAT(Read("sub/link.glsl"), StatusIs(kInvalid, "symbolic link"));
    EXPECT_THAT(Read("folder/b.glsl"), StatusIs(kDenied, "symbolic link"));
    return;
  }
  ASSERT_OK_AND_ASSIGN(const FileContent content, Read("sub/link.glsl"));
  EXPECT_EQ(content.bytes, "inside");
  EXPECT_OK(Read("folder/b.glsl"));
}

TEST_P(RootFileTest, CircleOfLinksAndALinkToNothingEnd) {
  fs::create_symlink("two", folder_ / "root/one");
  fs::create_symlink("one", folder_ / "root/two");
  fs::create_symlink("nothing", folder_ / "root/dangling");
  EXPECT_THAT(Read("one"), StatusIs(kInvalid, "symbolic link"));
  EXPECT_FALSE(Read("dangling").ok());
}

TEST_P(RootFileTest, DirectoryIsCalledOne) {
  EXPECT_THAT(Read("sub"), StatusIs(kInvalid, "is a directory"));
}

// glslc's includer blocks for ever.
TEST_P(RootFileTest, PipeIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo((folder_ / "root/pipe.glsl").c_str(), 0600), 0);
  EXPECT_THAT(Read("pipe.glsl"), StatusIs(kInvalid, "is a pipe"));
}

TEST_P(RootFileTest, SocketIsRefused) {
  const Descriptor server(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (folder_ / "root/s.glsl").string();
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(server.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)),
            0);
  EXPECT_THAT(Read("s.glsl"), StatusIs(kInvalid, "is a socket"));
}

TEST_P(RootFileTest, DeviceIsRefused) {
  if (mknod((folder_ / "root/null.glsl").c_str(), S_IFCHR | 0666,
            makedev(1, 3)) != 0) {
    GTEST_SKIP() << "only root makes devices";
  }
  EXPECT_THAT(Read("null.glsl"), StatusIs(kInvalid, "is a device"));
}

TEST_P(RootFileTest, UnreadableFileIsDenied) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod((folder_ / "root/a.glsl").c_str(), 0), 0);
  testing::ExpectUnprivileged([&] {
    const auto root = RootFolder::Open((folder_ / "root").string(), GetParam());
    ASSERT_OK(root);
    EXPECT_THAT(root->Read("a.glsl"), StatusIs(kDenied, "may not be read"));
    EXPECT_OK(root->Read("sub/b.glsl"));
  });
}

// Makes openat2 fail with EPERM from now on, for `folder` or, without one, for
// all.
void RefuseOpenat2(std::optional<int> folder) {
  const auto number = static_cast<uint32_t>(folder.value_or(0));
  const uint8_t past_folder = folder.has_value() ? 0 : 2;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, past_folder, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(code), code};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

class Openat2RefusedTest : public RootFileTest {
 protected:
  Openat2RefusedTest() {
    EXPECT_EQ(chmod(folder_.path().c_str(), 0755), 0);
    fs::create_symlink("a.glsl", folder_ / "root/link.glsl");
  }

  absl::StatusOr<RootFolder> Open() {
    return RootFolder::Open((folder_ / "root").string(), GetParam());
  }
};

INSTANTIATE_TEST_SUITE_P(Walks, Openat2RefusedTest,
                         ::testing::Values(PathWalk::kKernel));

TEST_P(Openat2RefusedTest, SandboxThatRefusesItCostsTheLinksOnly) {
  testing::ExpectUnprivileged([&] {
    RefuseOpenat2(std::nullopt);
    const auto root = Open();
    ASSERT_OK(root);
    EXPECT_OK(root->Read("sub/b.glsl"));
    EXPECT_THAT(root->Read("link.glsl"), StatusIs(kInvalid, "symbolic link"));
  });
}

TEST_P(Openat2RefusedTest, OneFileThatMayNotBeOpenedSaysNothingOfTheRest) {
  testing::ExpectUnprivileged([&] {
    // The next descriptor is that of the folder that is opened next.
    const int number = dup(STDIN_FILENO);
    ASSERT_GE(number, 0);
    close(number);
    const auto refused = Open();
    const auto other = Open();
    ASSERT_OK(refused);
    ASSERT_OK(other);
    RefuseOpenat2(number);
    EXPECT_THAT(refused->Read("a.glsl"), StatusIs(kDenied, "may not be read"));
    EXPECT_OK(other->Read("link.glsl")) << "the kernel still follows it";
  });
}

TEST_P(RootFileTest, FileOverTheLimitIsRefusedAndOneAtItIsRead) {
  Write("root/large.glsl", "");
  fs::resize_file(folder_ / "root/large.glsl", limits::kProgramBytes);
  ASSERT_OK_AND_ASSIGN(const FileContent content, Read("large.glsl"));
  EXPECT_EQ(content.bytes.size(), limits::kProgramBytes);
  fs::resize_file(folder_ / "root/large.glsl", limits::kProgramBytes + 1);
  EXPECT_THAT(Read("large.glsl"),
              StatusIs(kInvalid, "has 33554433 bytes, over the limit"));
}

TEST_P(RootFileTest, RootThatDoesNotExistIsNotFound) {
  EXPECT_THAT(RootFolder::Open((folder_ / "later").string(), GetParam()),
              StatusIs(kMissing));
  EXPECT_THAT(RootFolder::Open((folder_ / "secret.env").string(), GetParam()),
              StatusIs(kMissing));
}

// A writer that replaces the file by renaming never shows half of one.
TEST_P(RootFileTest, FileReplacedWhileItIsReadIsOneOrTheOther) {
  const std::string old_text(1 << 20, 'a');
  const std::string new_text((1 << 20) + 7, 'b');
  Write("root/a.glsl", old_text);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      Write("root/new", i % 2 == 0 ? new_text : old_text);
      fs::rename(folder_ / "root/new", folder_ / "root/a.glsl");
    }
  });
  for (int i = 0; i < 50; ++i) {
    const auto root = RootFolder::Open((folder_ / "root").string(), GetParam());
    ASSERT_OK(root);
    const absl::StatusOr<FileContent> content = root->Read("a.glsl");
    if (content.ok()) {
      EXPECT_TRUE(content->bytes == old_text || content->bytes == new_text);
    } else {
      EXPECT_THAT(content, StatusIs(absl::StatusCode::kUnavailable, "changes"));
    }
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace kiln::sources
