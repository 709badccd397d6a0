// SPDX-License-Identifier: Apache-2.0
#include "process/remote.hpp"

#include <holt/clock.hpp>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>

namespace holt::test {
namespace {

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  return ends;
}

}  // namespace

Remote::Remote(std::string const& url,
               std::vector<std::pair<std::string, std::string>> const& environment) {
  auto const to = make_pipe();
  auto const from = make_pipe();
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::vector<std::string> variables;
  for (auto const& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> all;
  for (auto& variable : variables) all.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable) all.push_back(*variable);
  all.push_back(nullptr);
  std::string program = "/proc/self/exe";
  std::string mode = "--worker";
  std::string store = url;
  std::array<char*, 4> arguments{program.data(), mode.data(), store.data(), nullptr};
  if (::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), all.data()) != 0) {
    throw std::runtime_error("cannot start a worker");
  }
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  input_ = to[1];
  output_ = from[0];
}

Remote::~Remote() {
  kill();
  ::close(input_);
  ::close(output_);
}

std::string Remote::ask(std::string const& command, std::chrono::milliseconds patience) {
  send(command);
  return answer(patience);
}

void Remote::send(std::string const& command) const {
  auto const line = command + "\n";
  [[maybe_unused]] auto const written = ::write(input_, line.data(), line.size());
}

std::string Remote::answer(std::chrono::milliseconds patience) {
  auto const until = BootClock::now() + patience;
  while (true) {
    auto const end = buffered_.find('\n');
    if (end != std::string::npos) {
      auto line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return line;
    }
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - BootClock::now());
    pollfd ready{output_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) break;
    std::array<char, 4096> bytes{};
    auto const got = ::read(output_, bytes.data(), bytes.size());
    if (got <= 0) break;
    buffered_.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return "(no answer)";
}

void Remote::signal(int number) const { ::kill(pid_, number); }

void Remote::kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace holt::test
