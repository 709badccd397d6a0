// SPDX-License-Identifier: Apache-2.0
// How long a lock stays free between processes: after a clean release with 1 and with 200
// processes waiting, and after the holder was killed. Times are BootClock, which all processes of
// a machine share.

#include "figures.hpp"

#include <holt/holt.hpp>

#include <fmt/core.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

/// What the processes share: when the lock was let go last, and the gaps seen so far.
struct Board {
  static constexpr std::size_t room = 4096;
  std::atomic<std::int64_t> let_go;
  std::atomic<std::int64_t> taken;
  std::atomic<std::uint64_t> entries;
  std::atomic<int> ready;
  std::atomic<bool> stop;
  std::array<std::atomic<std::int64_t>, room> gaps;
};

Board& make_board() {
  void* memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  return *new (memory) Board{};
}

std::int64_t now() { return BootClock::now().time_since_epoch().count(); }

pid_t start(std::function<void()> const& body) {
  auto const child = ::fork();
  if (child != 0) return child;
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

/// Takes the lock again and again; notes how long it was free before.
void contend(Board& board, std::string const& url) {
  auto holt = open(url);
  ++board.ready;
  while (!board.stop) {
    auto lock = holt.lock("x", {.ttl = 30s, .wait = 60s});
    if (!lock) continue;
    auto const entered = now();
    auto const before = board.let_go.load();
    if (before != 0) {
      auto const index = board.entries++;
      if (index < Board::room) board.gaps[index] = entered - before;
    }
    std::this_thread::sleep_for(2ms);
    board.let_go = now();
    [[maybe_unused]] auto const released = lock->release();
  }
}

/// The gaps after a warm-up, in seconds.
std::vector<double> clean_gaps(int waiting, std::uint64_t wanted) {
  Folder const folder;
  auto& board = make_board();
  auto const url = "sqlite://" + (folder.path() / "store.db").string();
  auto const warm_up = static_cast<std::uint64_t>(2 * (waiting + 1));
  std::vector<pid_t> children;
  for (int i = 0; i <= waiting; ++i) {
    children.push_back(start([&] { contend(board, url); }));
  }
  auto const give_up = BootClock::now() + 60s;
  while (board.entries < warm_up + wanted && BootClock::now() < give_up) {
    std::this_thread::sleep_for(5ms);
  }
  board.stop = true;
  kill_all(children);
  std::vector<double> gaps;
  auto const count = std::min<std::uint64_t>(board.entries, Board::room);
  for (auto i = warm_up; i < count; ++i) {
    gaps.push_back(static_cast<double>(board.gaps[i].load()) * 1e-9);
  }
  return gaps;
}

/// How much longer than the rest of its ttl a killed holder keeps the lock.
double after_kill(std::chrono::milliseconds ttl) {
  Folder const folder;
  auto& board = make_board();
  auto const url = "sqlite://" + (folder.path() / "store.db").string();
  auto const holder = start([&] {
    auto holt = open(url);
    auto const asked = now();
    auto lock = holt.try_lock("x", {.ttl = ttl, .renew = false});
    board.let_go = asked;
    ::pause();
  });
  while (board.let_go == 0) std::this_thread::sleep_for(1ms);
  auto const waiter = start([&] {
    auto holt = open(url);
    auto const lock = holt.lock("x", {.ttl = ttl, .wait = 60s});
    board.taken = now();
  });
  std::this_thread::sleep_for(ttl / 3);
  kill_all({holder});
  while (board.taken == 0) std::this_thread::sleep_for(1ms);
  ::waitpid(waiter, nullptr, 0);
  auto const expiry = board.let_go + std::chrono::nanoseconds(ttl).count();
  return static_cast<double>(board.taken - expiry) * 1e-9;
}

void measure() {
  head(
      "Locks: hand-over between processes, SQLite",
      "From the moment before the holder calls `release()` to the moment the next process has the "
      "lock.\nEach holds for 2 ms and stands in line again at once; 800 hand-overs. After SIGKILL: "
      "ttl 500 ms,\n20 times, counted from the end of the dead holder's lease.");
  for (int const waiting : {1, 200}) {
    auto const gaps = clean_gaps(waiting, 800);
    if (gaps.size() < 800) throw std::runtime_error("too few hand-overs in time");
    auto const what = fmt::format("clean release, {} waiting", waiting);
    row(what + ", p50", time_text(percentile(gaps, 0.5)), "at most 0.5 ms");
    row(what + ", p99", time_text(percentile(gaps, 0.99)), "at most 5 ms");
  }
  std::vector<double> late;
  for (int i = 0; i < 20; ++i) late.push_back(after_kill(500ms));
  row("after SIGKILL, past the rest of the ttl, p50", time_text(percentile(late, 0.5)),
      "at most 5 ms");
  row("after SIGKILL, past the rest of the ttl, p99", time_text(percentile(late, 0.99)));
}

}  // namespace
}  // namespace holt::bench

int main() { holt::bench::measure(); }
