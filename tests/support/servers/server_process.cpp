// SPDX-License-Identifier: Apache-2.0
#include "support/servers/server_process.hpp"

#include "support/servers/wait_until.hpp"

#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace holt::test {
namespace {

std::string contents(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return "ended with status " + std::to_string(WEXITSTATUS(status));
  return "was ended by signal " + std::to_string(WTERMSIG(status));
}

/// Also those that left the group, as PostgreSQL's do.
void signal_all(pid_t server, int number) {
  auto const pid = std::to_string(server);
  ::kill(-server, number);
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  for (pid_t child = 0; children >> child;) ::kill(child, number);
}

}  // namespace

ServerProcess::~ServerProcess() { stop(); }

void ServerProcess::start() {
  if (running()) throw ServerFailed(name_ + " runs already");
  log_start_ = contents(plan_.log).size();
  pid_ = spawn(plan_);
}

void ServerProcess::await(std::string const& what, std::function<bool()> const& ready,
                          std::chrono::milliseconds patience) {
  bool gone = false;
  bool const done = wait_until([&] { return (gone = ended()) || ready(); }, patience);
  if (done && !gone) return;
  if (!gone) throw ServerFailed(with_log(name_ + " is not there in time: " + what));
  auto const text = with_log(name_ + " " + how_it_ended(status_) + " before this: " + what);
  if (contents(plan_.log).find("ddress already in use", log_start_) != std::string::npos) {
    throw PortTaken(text);
  }
  throw ServerFailed(text);
}

void ServerProcess::stop(std::chrono::milliseconds patience, int signal) {
  if (!running()) return;
  ::kill(pid_, signal);
  signal_all(pid_, SIGCONT);  // a frozen one would not hear the other
  if (!ends_within(patience)) kill();
}

void ServerProcess::kill() {
  if (!running()) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, &status_, 0);
  pid_ = 0;
}

void ServerProcess::freeze() {
  if (!running()) throw ServerFailed(with_log(name_ + " does not run, so it cannot be frozen"));
  signal_all(pid_, SIGSTOP);
  siginfo_t stopped{};
  ::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WEXITED | WNOWAIT);
}

void ServerProcess::thaw() {
  if (running()) signal_all(pid_, SIGCONT);
}

bool ServerProcess::running() { return pid_ != 0 && !ended(); }

pid_t ServerProcess::pid() { return running() ? pid_ : 0; }

bool ServerProcess::ended() {
  if (pid_ == 0) return true;
  if (::waitpid(pid_, &status_, WNOHANG) != pid_) return false;
  pid_ = 0;
  return true;
}

bool ServerProcess::ends_within(std::chrono::milliseconds patience) {
  return wait_until([this] { return ended(); }, patience);
}

std::string ServerProcess::log_tail(std::size_t lines) const {
  auto text = contents(plan_.log);
  while (text.ends_with('\n')) text.pop_back();
  auto from = text.size();
  while (lines-- > 0 && from != std::string::npos && from > 0) from = text.rfind('\n', from - 1);
  return from == std::string::npos || from == 0 ? text : text.substr(from + 1);
}

std::string ServerProcess::with_log(std::string const& what) const {
  std::string command;
  for (auto const& word : plan_.command) command += (command.empty() ? "" : " ") + word;
  return what + "\ncommand: " + command + "\nend of " + plan_.log + ":\n" + log_tail();
}

void run_program(std::string const& name, SpawnPlan plan, std::chrono::milliseconds patience) {
  auto const log = plan.log;
  auto const folder = plan.folder;
  auto const pid = spawn(plan);
  int status = 0;
  bool const ended = wait_until([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }, patience);
  if (!ended) {
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, &status, 0);
  }
  if (ended && status == 0) return;
  throw ServerFailed(name + (ended ? " " + how_it_ended(status) : " has not ended in time") +
                     "; its output:\n" + contents(log));
}

}  // namespace holt::test
