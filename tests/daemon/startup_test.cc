// SPDX-License-Identifier: Apache-2.0

// Starting and stopping: locks, sockets, folders, users, signals.

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/exit_codes.h"
#include "daemon/instance_lock.h"
#include "kiln/v1/kiln.pb.h"
#include "tests/support/daemon_process.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/small_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/stream_client.h"
#include "tests/support/temp_dir.h"

namespace kiln::daemon {
namespace {

using ::testing::AllOf;
using testing::DaemonProcess;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::StatusIs;

// Runs a daemon that must refuse to start.
void ExpectRefusal(DaemonProcess& daemon, int exit_code,
                   const std::string& named) {
  ASSERT_OK(daemon.Launch());
  ASSERT_OK_AND_ASSIGN(const int code, daemon.Wait());
  EXPECT_EQ(code, exit_code);
  EXPECT_THAT(daemon.Log(), HasSubstr(named));
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

mode_t ModeOf(const std::filesystem::path& path) {
  struct stat info {};

  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST(StartupTest, SocketPathOver107BytesIsRefusedNamingPathAndLimit) {
  DaemonProcess daemon;
  daemon.set_socket((daemon.folder() / std::string(120, 's')).string());
  ExpectRefusal(daemon, kExitUsage, "limit of a Unix socket is 107");
  EXPECT_THAT(daemon.Log(), HasSubstr("ssssss"));
}

TEST(StartupTest, SocketPathOfExactly107BytesWorks) {
  DaemonProcess daemon;
  std::string path = daemon.folder().string() + "/";
  path.append(107 - path.size(), 's');
  daemon.set_socket(path);
  EXPECT_OK(daemon.Start());
}

TEST(StartupTest, StaleSocketFileIsReplaced) {
  DaemonProcess daemon;
  ASSERT_OK(daemon.Start());
  daemon.Kill();
  ASSERT_TRUE(std::filesystem::exists(daemon.socket()));
  ASSERT_OK(daemon.Start());
  EXPECT_THAT(daemon.Log(), HasSubstr("removed stale socket"));
}

TEST(StartupTest, FileThatIsNoSocketIsLeftAsItIs) {
  DaemonProcess daemon;
  daemon.set_socket((daemon.folder() / "precious").string());
  std::ofstream(daemon.socket()) << "data";
  ExpectRefusal(daemon, kExitFailed, "is not a socket");
  std::string content;
  std::ifstream(daemon.socket()) >> content;
  EXPECT_EQ(content, "data");
}

TEST(StartupTest, SocketSomebodyElseServesIsNotTaken) {
  DaemonProcess daemon;
  daemon.set_socket((daemon.folder() / "other.sock").string());
  const int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = AddressOf(daemon.socket());
  ASSERT_EQ(
      bind(other, reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
      0);
  ASSERT_EQ(listen(other, 8), 0);
  ExpectRefusal(daemon, kExitAlreadyRunning, "pid " + std::to_string(getpid()));
  EXPECT_TRUE(std::filesystem::exists(daemon.socket()));
  close(other);
}

TEST(StartupTest, StateFolderBelowAFileIsRefusedByName) {
  DaemonProcess daemon;
  std::ofstream(daemon.folder() / "file") << "x";
  daemon.set_state(daemon.folder() / "file" / "state");
  ExpectRefusal(daemon, kExitFailed, "file/state");
}

TEST(StartupTest, StateFolderThatIsNotWritableIsRefusedByName) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can run a daemon as another user";
  }
  testing::TempDir folder;
  const std::string state = (folder.path() / "state").string();
  ASSERT_EQ(mkdir(state.c_str(), 0755), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  const std::string log = (folder.path() / "log").string();
  const pid_t pid = fork();
  if (pid == 0) {  // exec follows at once
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(fd, STDERR_FILENO);
    if (setgid(65534) != 0 || setuid(65534) != 0) {
      _exit(99);
    }
    const std::string socket = folder.path().string() + "/kilnd.sock";
    execl(KILN_BINARY_DIR "/kilnd", "kilnd", "--socket", socket.c_str(),
          "--state", state.c_str(), nullptr);
    _exit(98);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 98) {
    GTEST_SKIP() << "the build folder is closed to other users";
  }
  EXPECT_EQ(WEXITSTATUS(status), kExitFailed);
  std::ifstream in(log);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, AllOf(HasSubstr(state), HasSubstr("not writable")));
}

// KNOWN_FAULTS 8: the second daemon must not take the first one's socket, nor
// delete it when it goes.
TEST(StartupTest,
     SecondDaemonOnAFolderExitsWithTheFirstOnesPidAndHarmsNothing) {
  DaemonProcess first;
  ASSERT_OK(first.Start());
  DaemonProcess second;
  second.set_state(first.state());
  ExpectRefusal(second, kExitAlreadyRunning,
                "pid " + std::to_string(first.pid()));
  DaemonProcess third;  // another folder, the same socket
  third.set_socket(first.socket());
  ExpectRefusal(third, kExitAlreadyRunning,
                "pid " + std::to_string(first.pid()));
  EXPECT_OK(first.Connect()->Handshake());
}

// KNOWN_FAULTS 7: closing any descriptor of RocksDB's LOCK drops its lock. Ours
// lies beside the database and does not care.
TEST(StartupTest,
     LockHoldsAlthoughSomebodyInTheProcessClosesTheDatabasesLockFile) {
  testing::TempDir folder;
  const auto lock_file = folder.path() / "kilnd.lock";
  ASSERT_OK_AND_ASSIGN(const InstanceLock lock,
                       InstanceLock::Acquire(lock_file));
  for (const auto& file : {folder.path() / "LOCK", lock_file}) {
    close(open(file.c_str(), O_RDWR | O_CREAT, 0600));
  }
  DaemonProcess daemon;
  daemon.set_state(folder.path());
  ExpectRefusal(daemon, kExitAlreadyRunning, "pid " + std::to_string(getpid()));
}

TEST(StartupTest, LockIsFreeAgainAfterKill9) {
  DaemonProcess daemon;
  ASSERT_OK(daemon.Start());
  daemon.Kill();
  EXPECT_OK(daemon.Start());
}

// KNOWN_FAULTS 24: whatever the umask, socket and folders are the user's own.
TEST(StartupTest, SocketAndFoldersArePrivateWhateverTheUmask) {
  const mode_t before = umask(0);
  DaemonProcess daemon;
  const absl::Status started = daemon.Start();
  umask(before);
  ASSERT_OK(started);
  EXPECT_EQ(ModeOf(daemon.socket()) & 077, 0u);
  EXPECT_EQ(ModeOf(std::filesystem::path(daemon.socket()).parent_path()),
            0700u);
  EXPECT_EQ(ModeOf(daemon.state()), 0700u);
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(daemon.state())) {
    EXPECT_EQ(ModeOf(entry.path()) & 077, 0u) << entry.path();
  }
}

// KNOWN_FAULTS 24: file modes are opened up by hand here, so that only the
// credential check is left.
TEST(StartupTest, AnotherUserIsRefusedBeforeAByteIsRead) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can become another user";
  }
  DaemonProcess daemon;
  ASSERT_OK(daemon.Start());
  for (const auto& path :
       {daemon.folder(),
        std::filesystem::path(daemon.socket()).parent_path()}) {
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  ASSERT_EQ(chmod(daemon.socket().c_str(), 0777), 0);
  const pid_t pid = fork();
  if (pid == 0) {  // only system calls follow
    if (setuid(65534) != 0) {
      _exit(9);
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un address = AddressOf(daemon.socket());
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) != 0) {
      _exit(8);
    }
    char byte = 0;
    _exit(read(fd, &byte, 1) == 0
              ? 0
              : 7);  // closed without a word from either side
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(daemon.CounterValue("connections_refused_user"), 1u);
}

// KNOWN_FAULTS 24, the other way round: a client does not send its sources to a
// stranger's daemon.
TEST(StartupTest, ClientDoesNotTrustASocketOfAnotherUser) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give a folder away";
  }
  DaemonProcess daemon;
  ASSERT_OK(daemon.Start());
  const auto folder = std::filesystem::path(daemon.socket()).parent_path();
  ASSERT_EQ(chown(folder.c_str(), 65534, 65534), 0);
  EXPECT_THAT(
      daemon.Connect()->Handshake(),
      StatusIs(absl::StatusCode::kPermissionDenied, "belongs to user 65534"));
  ASSERT_EQ(chown(folder.c_str(), 0, 0), 0);
  EXPECT_OK(daemon.Connect()->Handshake());
}

TEST(StartupTest, LogPipeThatIsClosedDoesNotEndTheDaemon) {
  testing::TempDir folder;
  const std::string script =
      KILN_BINARY_DIR "/kilnd --log-level debug --socket " +
      folder.path().string() + "/s --state " + folder.path().string() +
      "/state 2>&1 | head -n 1 >/dev/null & echo started";
  ASSERT_EQ(system(script.c_str()), 0);
  auto rpc = client::RpcClient::Create({.socket = folder.path() / "s"});
  ASSERT_OK(rpc);
  uint32_t pid = 0;
  ASSERT_TRUE(Eventually([&] {
    auto info = (*rpc)->Handshake();
    pid = info.ok() ? info->pid : 0;
    return info.ok();
  }));
  for (int i = 0; i < 3; ++i) {  // each logs a line
    EXPECT_OK((*rpc)->OpenSession("radv:vangogh"));
  }
  kill(static_cast<pid_t>(pid), SIGTERM);
  EXPECT_TRUE(
      Eventually([&] { return testing::IsGone(static_cast<pid_t>(pid)); }));
}

// KNOWN_FAULTS 22: an open stream must not keep the daemon from stopping.
TEST(StartupTest,
     SigtermWithAnOpenStreamAndARunningCompileDrainsAndEndsWithinFiveSeconds) {
  DaemonProcess daemon;
  ASSERT_OK(daemon.Start());
  testing::StreamClient client(daemon.socket());
  ASSERT_OK(client.Attach("radv:vangogh"));
  ASSERT_OK_AND_ASSIGN(const Digest id, daemon.Connect()->RegisterProgram(
                                            testing::SlowProgram(22)));
  ASSERT_TRUE(client.Ask({testing::MakeRequest(id, "opaque", 1)}));
  ASSERT_TRUE(Eventually([&] {
    const auto status = daemon.Connect()->GetStatus();
    return status.ok() && status->jobs_running() == 1;
  }));
  const std::vector<pid_t> workers = daemon.Workers();
  const auto start = std::chrono::steady_clock::now();
  ASSERT_OK_AND_ASSIGN(const int code, daemon.Stop());
  EXPECT_EQ(code, kExitOk);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  for (const pid_t worker : workers) {
    EXPECT_TRUE(testing::IsGone(worker)) << worker;
  }
  bool draining = false;
  absl::Status end;
  while (end.ok()) {
    auto message = client.Next();
    end = message.status();
    draining |= message.ok() && message->has_draining();
  }
  EXPECT_TRUE(draining);
  EXPECT_THAT(end, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(std::filesystem::exists(daemon.socket()));
}

// gRPC's own shutdown joins a poller that may sleep for ten seconds after an
// answer has filled a connection's buffer.
TEST(StartupTest, StopIsCleanAgainAndAgainAfterLargeAnswers) {
  DaemonProcess daemon;
  ASSERT_OK(daemon.Start());
  const Program program = testing::LargeProgram();
  ASSERT_OK_AND_ASSIGN(const Digest id,
                       daemon.Connect()->RegisterProgram(program));
  testing::StreamClient client(daemon.socket());
  ASSERT_OK(client.Attach("radv:vangogh"));
  ASSERT_OK_AND_ASSIGN(const v1::Completion completion,
                       client.AskOne(testing::MakeRequest(id, "opaque", 0)));
  ASSERT_OK_AND_ASSIGN(const Digest key,
                       Digest::FromRaw(completion.variant().key_id()));
  for (int round = 0; round < 12; ++round) {
    ASSERT_OK(daemon.Connect()->GetArtifact(key.Hex(), Digest()));
    ASSERT_OK_AND_ASSIGN(const int code, daemon.Stop());
    ASSERT_EQ(code, kExitOk) << "round " << round;
    ASSERT_OK(daemon.Start());
  }
}

TEST(StartupTest, SocketFileThatVanishesIsBoundAgain) {
  DaemonProcess daemon;
  ASSERT_OK(daemon.Start());
  std::filesystem::remove(daemon.socket());
  EXPECT_TRUE(Eventually([&] { return daemon.Connect()->Handshake().ok(); }));
}

TEST(StartupTest, SocketFileThatIsReplacedEndsTheDaemonLoudly) {
  DaemonProcess daemon;
  ASSERT_OK(daemon.Start());
  std::filesystem::remove(daemon.socket());
  std::ofstream(daemon.socket()) << "mine";
  ASSERT_OK_AND_ASSIGN(const int code, daemon.Wait());
  EXPECT_EQ(code, kExitFailed);
  EXPECT_THAT(daemon.Log(), HasSubstr("was replaced"));
  EXPECT_TRUE(std::filesystem::exists(daemon.socket()));
}

TEST(StartupTest, SettingsComeFromATomlFileWithTheFlagsNames) {
  testing::TempDir folder;
  std::ofstream(folder.path() / "kilnd.toml")
      << "# two compiles at a time\nworkers = 2\n"
         "warm-target = [\"radv:navi21\"]\n";
  DaemonProcess daemon(
      {{"--config", (folder.path() / "kilnd.toml").string()}, {}});
  ASSERT_OK(daemon.Start());
  EXPECT_TRUE(Eventually([&] {
    return daemon.Log().find("target open target=radv:navi21") !=
           std::string::npos;
  }));
}

TEST(StartupTest, UnknownSettingIsRefusedByName) {
  testing::TempDir folder;
  std::ofstream(folder.path() / "kilnd.toml") << "wrokers = 2\n";
  DaemonProcess daemon(
      {{"--config", (folder.path() / "kilnd.toml").string()}, {}});
  ExpectRefusal(daemon, kExitUsage, "wrokers");
}

TEST(StartupTest, MissingWorkerBinaryIsRefusedByName) {
  DaemonProcess daemon({{"--worker", "/no/such/kiln-worker"}, {}});
  ExpectRefusal(daemon, kExitFailed, "/no/such/kiln-worker");
}

}  // namespace
}  // namespace kiln::daemon
