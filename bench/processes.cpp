// SPDX-License-Identifier: Apache-2.0
#include "processes.hpp"

#include <fmt/core.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <thread>

namespace holt::bench {

pid_t start(std::function<void()> const& body) {
  auto const child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    body();
  } catch (std::exception const& error) {
    fmt::print(stderr, "worker: {}\n", error.what());
    ::_exit(1);
  }
  ::_exit(0);
}

void kill_all(std::vector<pid_t> const& children) {
  for (auto const child : children) ::kill(child, SIGKILL);
  for (auto const child : children) ::waitpid(child, nullptr, 0);
}

void* shared_memory(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  return memory;
}

void sleep_until(std::int64_t when) {
  for (auto left = when - now(); left > 0; left = when - now()) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(left));
  }
}

}  // namespace holt::bench
