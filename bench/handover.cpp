// SPDX-License-Identifier: Apache-2.0
#include "handover.hpp"

#include "figures.hpp"
#include "processes.hpp"

#include <holt/holt.hpp>

#include <fmt/core.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

/// What the processes share: when the lock was let go last and by whom, and the gaps seen so far.
struct Board {
  static constexpr std::size_t room = 8192;
  std::atomic<std::int64_t> let_go;
  std::atomic<pid_t> by;
  std::atomic<std::uint64_t> entries;
  std::atomic<int> ready;
  std::array<std::atomic<std::int64_t>, room> gaps;  ///< 0: within one process
};

/// Takes the lock again and again; notes how long it was free before.
void contend(Board& board, Holt& holt) {
  while (true) {
    auto lock = holt.lock("x", {.ttl = 30s, .wait = 60s});
    if (!lock) continue;
    auto const entered = now();
    auto const before = board.let_go.load();
    if (before != 0) {
      auto const index = board.entries++;
      if (index < Board::room) board.gaps[index] = board.by == ::getpid() ? 0 : entered - before;
    }
    std::this_thread::sleep_for(2ms);
    board.by = ::getpid();
    board.let_go = now();
    [[maybe_unused]] auto const released = lock->release();
  }
}

void contend(Board& board, std::string const& url, Crowd crowd) {
  auto holt = open(url);
  ++board.ready;
  await("all processes", [&] { return board.ready >= crowd.processes; });
  std::vector<std::thread> threads;
  for (int i = 0; i < crowd.threads; ++i) {
    // All processes in step, so that the next in line is one of another process, and stays so.
    auto const turn = static_cast<std::uint64_t>(i * crowd.processes);
    await("a turn", [&] { return board.entries >= turn; });
    threads.emplace_back([&] { contend(board, holt); });
  }
  for (auto& thread : threads) thread.join();
}

void wait_for_entries(Board const& board, std::uint64_t wanted) {
  await("enough hand-overs", [&] { return board.entries >= wanted; });
}

struct Killing {
  std::atomic<bool> waiter_is_up;
  std::atomic<std::int64_t> asked;
  std::atomic<std::int64_t> taken;
};

void hold_for_ever(Killing& board, std::string const& url, Name const& name,
                   std::chrono::milliseconds ttl) {
  auto holt = open(url);
  await("the waiter", [&] { return board.waiter_is_up.load(); });
  auto const asked = now();
  auto const lock = holt.try_lock(name, {.ttl = ttl, .renew = false});
  if (!lock) throw std::runtime_error("the lock is not free");
  board.asked = asked;
  ::pause();
}

void wait_for_it(Killing& board, std::string const& url, Name const& name,
                 std::chrono::milliseconds ttl) {
  auto holt = open(url);
  board.waiter_is_up = true;
  await("the holder", [&] { return board.asked != 0; });
  auto const lock = holt.lock(name, {.ttl = ttl, .wait = 60s});
  board.taken = now();
}

}  // namespace

HandOvers hand_overs(std::string const& url, Crowd crowd, std::uint64_t wanted,
                     CommandCount const& sent) {
  auto& board = make_board<Board>();
  auto const warm_up = static_cast<std::uint64_t>(2 * (crowd.waiting() + 1));
  if (warm_up + wanted > Board::room) throw std::runtime_error("more gaps than there is room for");
  std::vector<pid_t> children;
  for (int i = 0; i < crowd.processes; ++i) {
    children.push_back(start([&] { contend(board, url, crowd); }));
  }
  wait_for_entries(board, warm_up);
  auto const sent_before = sent ? sent() : 0;
  auto const first = board.entries.load();
  wait_for_entries(board, warm_up + wanted);
  auto const sent_after = sent ? sent() : 0;
  auto const last = std::min<std::uint64_t>(board.entries, Board::room);
  kill_all(children);
  HandOvers seen;
  seen.counted = static_cast<double>(last - first);
  seen.commands = static_cast<double>(sent_after - sent_before) / seen.counted;
  for (auto i = warm_up; i < last; ++i) {
    auto const gap = board.gaps[i].load();
    if (gap != 0) seen.gaps.push_back(static_cast<double>(gap) * 1e-9);
  }
  if (seen.gaps.size() < wanted / 2) throw std::runtime_error("too few between processes");
  return seen;
}

double after_kill(std::string const& url, std::chrono::milliseconds ttl) {
  auto& board = make_board<Killing>();
  Name const name(fmt::format("x-{}", now()));  // a new one each time
  auto const holder = start([&] { hold_for_ever(board, url, name, ttl); });
  auto const waiter = start([&] { wait_for_it(board, url, name, ttl); });
  await("the holder", [&] { return board.asked != 0; });
  std::this_thread::sleep_for(ttl / 3);
  kill_all({holder});
  await("the next holder", [&] { return board.taken != 0; });
  ::waitpid(waiter, nullptr, 0);
  auto const expiry = board.asked + std::chrono::nanoseconds(ttl).count();
  return static_cast<double>(board.taken - expiry) * 1e-9;
}

void gap_rows(std::string const& what, std::vector<double> const& gaps, std::string const& p50,
              std::string const& p99) {
  row(what + ", p50", time_text(percentile(gaps, 0.5)), p50);
  row(what + ", p99", time_text(percentile(gaps, 0.99)), p99);
}

}  // namespace holt::bench
