// SPDX-License-Identifier: Apache-2.0
#include "support/servers/server_process.hpp"

#include "process_gone.hpp"
#include "support/servers/reserved_port.hpp"
#include "support/servers/wait_until.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <thread>

namespace holt::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string first_word(std::string const& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// R, S, T ... as ps(1) shows it.
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  auto const end = text.rfind(')');
  return end == std::string::npos ? '?' : text.at(end + 2);
}

class ServerProcessTest : public testing::Test {
 protected:
  [[nodiscard]] SpawnPlan shell(std::string const& script) const {
    SpawnPlan plan;
    plan.command = {"sh", "-c", script};
    plan.folder = folder_.path();
    plan.log = folder_.file("log");
    return plan;
  }
  /// Runs `script`, which makes the file "up", and waits for that.
  void start(ServerProcess& process) {
    process.start();
    process.await("file up", [this] { return std::filesystem::exists(folder_.file("up")); });
  }

  TemporaryFolder folder_;
};

TEST_F(ServerProcessTest, RunsInItsFolderAndGroupAndIsGoneWithItsOwner) {
  pid_t pid = 0;
  {
    ServerProcess process("shell", shell("echo $GREETING > up; exec sleep 1000"));
    EXPECT_FALSE(process.running());
    start(process);
    pid = process.pid();
    EXPECT_TRUE(process.running());
    EXPECT_EQ(::getpgid(pid), pid);
  }
  EXPECT_TRUE(is_gone(pid));
}

TEST_F(ServerProcessTest, HasTheEnvironmentItIsGiven) {
  auto plan = shell("echo $GREETING > up; exec sleep 1000");
  plan.environment = {{"GREETING", "hello"}};
  ServerProcess process("shell", plan);
  start(process);
  EXPECT_TRUE(wait_until([this] { return first_word(folder_.file("up")) == "hello"; }));
}

TEST_F(ServerProcessTest, SaysWhatTheLogSaysWhenItDoesNotComeUp) {
  ServerProcess process("shell", shell("echo bad option >&2; exit 3"));
  process.start();
  try {
    process.await("never", [] { return false; });
    FAIL() << "should throw";
  } catch (PortTaken const&) {
    FAIL() << "no port was taken";
  } catch (ServerFailed const& error) {
    EXPECT_THAT(error.what(), HasSubstr("shell ended with status 3 before this: never"));
    EXPECT_THAT(error.what(), HasSubstr("bad option"));
  }
}

TEST_F(ServerProcessTest, SaysSoWhenItIsNotReadyInTime) {
  ServerProcess process("shell", shell("echo busy; exec sleep 1000"));
  process.start();
  try {
    process.await("never", [] { return false; }, 100ms);
    FAIL() << "should throw";
  } catch (ServerFailed const& error) {
    EXPECT_THAT(error.what(), HasSubstr("shell is not there in time: never"));
  }
}

TEST_F(ServerProcessTest, SaysWhenThereIsNoSuchProgramOrUser) {
  auto plan = shell("true");
  plan.command = {"holt-no-such-program"};
  ServerProcess missing("missing", plan);
  EXPECT_THROW(missing.start(), std::system_error);
  plan.user = "no-such-user-here";
  ServerProcess stranger("stranger", plan);
  EXPECT_THROW(stranger.start(), std::runtime_error);
}

TEST_F(ServerProcessTest, TellsATakenPortFromOtherTroubles) {
  int const listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ReservedPort const port;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port.number());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  auto const line = "exec redis-server --bind 127.0.0.1 --port " + std::to_string(port.number());
  ServerProcess process("redis-server", shell(line));
  process.start();
  EXPECT_THROW(process.await("listens", [] { return false; }), PortTaken);
  ::close(listener);
}

TEST_F(ServerProcessTest, EndsWhatDoesNotListenAndItsChildren) {
  ServerProcess process("deaf", shell("trap '' TERM; sleep 1000 & echo $! > child; : > up; wait"));
  start(process);
  auto const pid = process.pid();
  auto const child = static_cast<pid_t>(std::stoi(first_word(folder_.file("child"))));
  process.stop(100ms);
  EXPECT_TRUE(is_gone(pid));
  // Whoever adopted the child has to collect it before it is gone.
  EXPECT_TRUE(wait_until([&] { return is_gone(child) || state_of(child) == 'Z'; }));
}

TEST_F(ServerProcessTest, CanBeFrozenThawedKilledAndStartedAgain) {
  ServerProcess process("shell", shell(": > up; exec sleep 1000"));
  start(process);
  auto const pid = process.pid();
  process.freeze();
  EXPECT_EQ(state_of(pid), 'T');
  process.thaw();
  EXPECT_TRUE(wait_until([&] { return state_of(pid) == 'S'; }));
  process.freeze();
  process.kill();
  EXPECT_FALSE(process.running());
  EXPECT_TRUE(is_gone(pid));
  process.start();
  EXPECT_TRUE(process.running());
  process.freeze();
  process.stop();  // hears SIGTERM although it was frozen
  EXPECT_FALSE(process.running());
}

TEST_F(ServerProcessTest, OutlivesTheThreadThatStartedIt) {
  ServerProcess process("shell", shell(": > up; exec sleep 1000"));
  std::thread([&] { start(process); }).join();
  EXPECT_TRUE(process.running());
}

TEST_F(ServerProcessTest, RunsAsAnotherUserWhenWeAreRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can choose a user";
  give_to("nobody", folder_.path());
  auto plan = shell("id -un > up.new && mv up.new up; exec sleep 1000");
  plan.user = "nobody";
  ServerProcess process("shell", plan);
  start(process);
  EXPECT_EQ(first_word(folder_.file("up")), "nobody");
}

TEST_F(ServerProcessTest, RunProgramWaitsForTheEndAndSaysWhatWentWrong) {
  run_program("shell", shell("true"));
  try {
    run_program("shell", shell("echo it is raining; exit 5"));
    FAIL() << "should throw";
  } catch (ServerFailed const& error) {
    EXPECT_THAT(error.what(), HasSubstr("shell ended with status 5"));
    EXPECT_THAT(error.what(), HasSubstr("it is raining"));
  }
  EXPECT_THROW(run_program("shell", shell("sleep 1000"), 50ms), ServerFailed);
}

/// Run in a process of its own by the test below, in whose folder it works: starts a server and
/// dies.
TEST(DyingTestProgram, DISABLED_StartsAServerAndIsKilled) {
  SpawnPlan plan;
  plan.command = {"sleep", "1000"};
  plan.folder = std::getenv("HOLT_TEST_FOLDER");
  plan.log = plan.folder + "/log";
  ServerProcess process("orphan", plan);
  process.start();
  std::ofstream(plan.folder + "/pid") << process.pid() << std::flush;
  ::kill(::getpid(), SIGKILL);
}

TEST(DyingTestProgram, TakesItsServersWithIt) {
  TemporaryFolder const folder;
  SpawnPlan plan;
  plan.command = {std::filesystem::read_symlink("/proc/self/exe").string(),
                  "--gtest_also_run_disabled_tests",
                  "--gtest_filter=DyingTestProgram.DISABLED_StartsAServerAndIsKilled"};
  plan.environment = {{"HOLT_TEST_FOLDER", folder.path()}};
  plan.folder = folder.path();
  plan.log = folder.file("log");
  EXPECT_THROW(run_program("the test program", plan), ServerFailed);
  auto const orphan = static_cast<pid_t>(std::stoi("0" + first_word(folder.file("pid"))));
  ASSERT_GT(orphan, 0);
  EXPECT_TRUE(wait_until([&] { return is_gone(orphan) || state_of(orphan) == 'Z'; }));
}

TEST(ReservedPortTest, IsNobodyElses) {
  std::vector<ReservedPort> ports(200);
  std::set<std::uint16_t> numbers;
  for (auto const& port : ports) numbers.insert(port.number());
  EXPECT_EQ(numbers.size(), ports.size());
}

TEST(ReservedPortTest, IsTriedFiveTimesWhenOthersAreFaster) {
  int calls = 0;
  EXPECT_EQ(on_free_ports([&] {
              if (++calls < 3) throw PortTaken("taken");
              return calls;
            }),
            3);
  calls = 0;
  EXPECT_THROW(on_free_ports([&] {
                 ++calls;
                 throw PortTaken("taken");
               }),
               PortTaken);
  EXPECT_EQ(calls, 5);
}

}  // namespace
}  // namespace holt::test
