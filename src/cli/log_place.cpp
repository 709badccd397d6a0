// SPDX-License-Identifier: Apache-2.0
#include "cli/log_place.hpp"

#include "cli/descriptor.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"

#include <holt/clock.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <system_error>

namespace holt::cli {
namespace {

constexpr int most_logs = 1000;

std::filesystem::path state_folder() {
  auto const* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return state;
  auto const* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::filesystem::path(home) / ".local/state";
  throw Failure(ExitCode::failed, "there is no folder for the log: HOME is not set",
                "XDG_STATE_HOME=FOLDER holt up");
}

[[noreturn]] void refuse(std::filesystem::path const& path, int error) {
  throw Failure(
      ExitCode::failed,
      "cannot write the log " + path.string() + ": " + std::system_category().message(error),
      "XDG_STATE_HOME=FOLDER holt up, or holt up --foreground, which logs to stderr");
}

std::filesystem::path log_folder() {
  auto const state = state_folder();
  std::error_code failed;
  std::filesystem::create_directories(state, failed);
  for (auto const& folder : {state / "holt", state / "holt/log"}) {
    if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) refuse(folder, errno);
  }
  return state / "holt/log";
}

/// False: somebody writes to it, for longer than that.
bool is_free_within(std::chrono::milliseconds patience, std::filesystem::path const& path) {
  Descriptor const file(::open(path.c_str(),
                               O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                               S_IRUSR | S_IWUSR));
  if (!file.is_open()) refuse(path, errno);
  auto const end = BootClock::now() + patience;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (BootClock::now() >= end) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

}  // namespace

std::string log_place(std::string const& instance, std::chrono::milliseconds patience) {
  auto const folder = log_folder();
  for (int number = 1; number <= most_logs; ++number) {
    // No instance has '@' in its name, and those that are put aside are NAME.1.log.
    auto const suffix = number == 1 ? std::string() : '@' + std::to_string(number);
    auto const path = folder / (instance + suffix + ".log");
    if (is_free_within(patience, path)) return path.string();
    patience = {};
  }
  throw Failure(ExitCode::conflict, "too many logs of this instance are in use");
}

}  // namespace holt::cli
