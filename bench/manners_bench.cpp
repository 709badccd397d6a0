// SPDX-License-Identifier: Apache-2.0
// What a person at a terminal is promised: something is said within 100 ms while a command waits
// for a lock, Ctrl-C ends it within 100 ms even if the store is blocked, a second one at once.
// Each run is a process with a terminal of its own.

#include "figures.hpp"

#include <holt/holt.hpp>

#include <fmt/core.h>
#include <sqlite3.h>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

constexpr int runs = 30;
constexpr std::string_view target = "at most 100 ms";

double since(Instant start) {
  return std::chrono::duration<double>(BootClock::now() - start).count();
}

/// A command on a terminal; killed at the end if it is still there.
class Typed {
 public:
  explicit Typed(std::vector<std::string> words) : start_(BootClock::now()) {
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    child_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ < 0) throw std::runtime_error("no terminal left");
    if (child_ == 0) {
      // A shell starts what runs in the background with Ctrl-C ignored, and that is inherited.
      ::signal(SIGINT, SIG_DFL);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
  }
  ~Typed() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(terminal_);
  }
  Typed(Typed const&) = delete;
  Typed& operator=(Typed const&) = delete;

  /// How long after its start the first byte came.
  double first_byte() {
    read_some();
    return since(start_);
  }

  /// Reads on until this has been shown.
  void expect(std::string_view text) {
    while (seen_.find(text) == std::string::npos) read_some();
  }

  void interrupt() const { ::kill(child_, SIGINT); }

  /// Until it is gone; it must have ended as an interrupted command does.
  void wait() {
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 128 + SIGINT) {
      throw std::runtime_error("a command ended in another way than by SIGINT: " + seen_);
    }
  }

 private:
  void read_some() {
    pollfd event{terminal_, POLLIN, 0};
    std::array<char, 4096> buffer{};
    auto const count = ::poll(&event, 1, 10'000) == 1
                           ? ::read(terminal_, buffer.data(), buffer.size())
                           : ssize_t{-1};
    if (count <= 0) throw std::runtime_error("a command said too little: " + seen_);
    seen_.append(buffer.data(), static_cast<std::size_t>(count));
  }

  Instant start_;
  pid_t child_ = -1;
  int terminal_ = -1;
  std::string seen_;
};

/// While it lives nobody can write to the store.
class BlockedStore {
 public:
  explicit BlockedStore(std::string const& file) {
    sqlite3_open(file.c_str(), &handle_);
    sqlite3_busy_timeout(handle_, 5'000);
    if (sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) != SQLITE_OK) {
      throw std::runtime_error("cannot block the store");
    }
  }
  ~BlockedStore() {
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_close(handle_);
  }
  BlockedStore(BlockedStore const&) = delete;
  BlockedStore& operator=(BlockedStore const&) = delete;

 private:
  sqlite3* handle_ = nullptr;
};

struct Times {
  std::vector<double> first_byte, end;
};

/// Waits in line, then Ctrl-C.
Times in_line(std::vector<std::string> const& words) {
  Times times;
  for (int i = 0; i < runs; ++i) {
    Typed command(words);
    times.first_byte.push_back(command.first_byte());
    command.expect("next in line");
    auto const sent = BootClock::now();
    command.interrupt();
    command.wait();
    times.end.push_back(since(sent));
  }
  return times;
}

/// The same while somebody blocks the store, so that it cannot leave the line; from the last
/// Ctrl-C.
std::vector<double> blocked(std::vector<std::string> const& words, std::string const& file,
                            bool twice) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    Typed command(words);
    command.expect("waiting for lock");
    BlockedStore const nobody_writes(file);
    auto sent = BootClock::now();
    command.interrupt();
    if (twice) {
      ::poll(nullptr, 0, 20);
      sent = BootClock::now();
      command.interrupt();
    }
    command.wait();
    times.push_back(since(sent));
  }
  return times;
}

void rows(std::string const& what, std::vector<double> const& times) {
  row(what + ", p50", time_text(percentile(times, 0.5)), std::string(target));
  row(what + ", max", time_text(percentile(times, 1)), std::string(target));
}

void measure() {
  ::setenv("TERM", "xterm", 1);  // for the commands; before there are threads
  Folder const folder;
  auto const file = (folder.path() / "store.db").string();
  auto const url = "sqlite://" + file;
  char const* binary = std::getenv("HOLT_BINARY");
  std::string const holt = binary != nullptr ? binary : HOLT_BINARY;
  auto store = open(url);
  auto const held = store.lock("x", {.ttl = 1h});
  if (!held) throw std::runtime_error("the lock is not free");
  std::vector<std::string> const acquire{holt, "lock", "acquire", "x", "--store", url};
  std::vector<std::string> const run{holt, "run",     "--lock", "x",  "--wait",
                                     "1h", "--store", url,      "--", "true"};
  head("Command line manners",
       fmt::format(
           "A command that waits for a lock that is held, on a terminal, {} times each: from "
           "its start to the\nfirst byte it shows, and from SIGINT to its end. Blocked: "
           "another process keeps everybody from\nwriting to the store, so it cannot leave "
           "the line; then also from a second SIGINT, 20 ms after\nthe first.",
           runs));
  auto const of_acquire = in_line(acquire);
  rows("`holt lock acquire`, first byte", of_acquire.first_byte);
  rows("`holt lock acquire`, SIGINT to end", of_acquire.end);
  auto const of_run = in_line(run);
  rows("`holt run --wait`, first byte", of_run.first_byte);
  rows("`holt run --wait`, SIGINT to end", of_run.end);
  rows("blocked, SIGINT to end", blocked(acquire, file, false));
  rows("blocked, second SIGINT to end", blocked(acquire, file, true));
}

}  // namespace
}  // namespace holt::bench

int main() { holt::bench::measure(); }
