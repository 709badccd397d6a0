// SPDX-License-Identifier: Apache-2.0
#include "support/other_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

extern char** environ;

namespace holt::test {
namespace {

constexpr std::string_view prefix = "HOLT_OTHER_PROCESS_";

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

OtherProcess::OtherProcess(std::string const& name, Settings const& settings) {
  std::vector<std::string> arguments{"/proc/self/exe", "--gtest_filter=" + name,
                                     "--gtest_also_run_disabled_tests", "--gtest_brief=1"};
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  for (auto const& [key, value] : settings) {
    environment.push_back(std::string(prefix) + key + "=" + value);
  }
  auto argv = pointers(arguments);
  auto envp = pointers(environment);
  int const result =
      ::posix_spawn(&pid_, "/proc/self/exe", nullptr, nullptr, argv.data(), envp.data());
  if (result != 0) throw std::system_error(result, std::generic_category(), "posix_spawn");
}

OtherProcess::OtherProcess(OtherProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

OtherProcess::~OtherProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void OtherProcess::signal(int number) const { ::kill(pid_, number); }

int OtherProcess::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool OtherProcess::wait_until_stopped() const {
  auto const give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < give_up) {
    siginfo_t info{};
    auto const id = static_cast<id_t>(pid_);
    if (::waitid(P_PID, id, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

Settings other_process_settings() {
  Settings settings;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view const text(*entry);
    auto const equals = text.find('=');
    if (!text.starts_with(prefix) || equals == std::string_view::npos) continue;
    settings.emplace(text.substr(prefix.size(), equals - prefix.size()), text.substr(equals + 1));
  }
  return settings;
}

}  // namespace holt::test
