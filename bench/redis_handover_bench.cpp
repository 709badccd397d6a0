// SPDX-License-Identifier: Apache-2.0
// Hand-over on Redis: after a clean release with 1 and with 1,000 waiting, after an expiry with
// 1,000 waiting, and after the holder was killed; what clients send for it; and the raw limit, a
// bare message from one process to another over the same server.

#include "figures.hpp"
#include "handover.hpp"
#include "processes.hpp"
#include "redis_figures.hpp"

#include <holt/holt.hpp>

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t samples = 800;
constexpr Crowd one_waits{.processes = 2, .threads = 1};
constexpr Crowd thousand_wait{.processes = 77, .threads = 13};

std::int64_t nanos(std::chrono::nanoseconds span) { return span.count(); }

// The raw limit. ----------------------------------------------------------------------------------

struct Messages {
  std::atomic<std::int64_t> sent;
  std::atomic<std::uint64_t> count;
  std::atomic<int> listening;
  std::array<std::atomic<std::int64_t>, samples> gaps;       ///< until the message was there
  std::array<std::atomic<std::int64_t>, samples> confirmed;  ///< and a command was answered
};

/// Answers each message with one to the next, 2 ms later; notes how long each was on its way, and
/// until the server answered a command that was sent because of it.
void answer(Messages& board, std::uint16_t port, std::string const& me, std::string const& next) {
  test::RedisClient ear(port);
  test::RedisClient mouth(port);
  ear.done({"SUBSCRIBE", me});
  ++board.listening;
  while (true) {
    [[maybe_unused]] auto const message = ear.receive();
    auto const arrived = now();
    mouth.done({"GET", "x"});
    auto const answered = now();
    auto const index = board.count++;
    if (index < samples) {
      board.gaps[index] = arrived - board.sent;
      board.confirmed[index] = answered - board.sent;
    }
    std::this_thread::sleep_for(2ms);
    board.sent = now();
    mouth.done({"PUBLISH", next, "your turn"});
  }
}

struct Bare {
  std::vector<double> messages, confirmed;  ///< seconds
};

/// So many processes, one after the other in a ring.
Bare bare_messages(test::RedisServer const& server, int processes) {
  auto& board = make_board<Messages>();
  auto const name = [&](int i) { return "p" + std::to_string(i % processes); };
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    children.push_back(start([&] { answer(board, server.port(), name(i), name(i + 1)); }));
  }
  await("all to listen", [&] { return board.listening >= processes; });
  board.sent = now();
  server.command({"PUBLISH", name(0), "your turn"});
  await("all messages", [&] { return board.count >= samples; });
  kill_all(children);
  Bare seen;
  for (std::size_t i = 0; i < samples; ++i) {
    seen.messages.push_back(static_cast<double>(board.gaps[i]) * 1e-9);
    seen.confirmed.push_back(static_cast<double>(board.confirmed[i]) * 1e-9);
  }
  return seen;
}

// Expiry. -----------------------------------------------------------------------------------------

constexpr int expiries = 10;
constexpr auto short_ttl = 1s;
constexpr Crowd behind{.processes = 66, .threads = 15};  // 10 and these are 1,000

/// What the processes share: who stands in line, and who got the lock.
struct Line {
  std::atomic<int> begun;  ///< the first ones stand in line
  std::atomic<int> full;   ///< all do
  std::atomic<int> go;
  std::atomic<int> grants;
  std::atomic<std::int64_t> taken;  ///< when the last one got it
};

/// Waits for the lock in threads and keeps it, unrenewed, until it has ended and after that.
void stand_in_line(Line& line, Holt& holt, int threads, std::chrono::milliseconds ttl) {
  for (int i = 0; i < threads; ++i) {
    std::thread([&line, &holt, ttl] {
      auto const lock = holt.lock("x", {.ttl = ttl, .wait = 60s, .renew = false});
      line.taken = now();
      ++line.grants;
      ::pause();
    }).detach();
  }
}

void wait_for_line(Holt& holt, std::uint32_t length) {
  await("the line", [&] { return holt.find("x")->waiting == length; });
}

/// Holds the lock until all stand in line, those before the others that will let it expire.
void lead(Line& line, std::string const& url) {
  auto holt = open(url);
  auto first = holt.try_lock("x", {.ttl = short_ttl});
  if (!first) throw std::runtime_error("the lock is not free");
  stand_in_line(line, holt, expiries, short_ttl);
  wait_for_line(holt, expiries);
  line.begun = 1;
  wait_for_line(holt, expiries + behind.processes * behind.threads);
  line.full = 1;
  await("the start", [&] { return line.go != 0; });
  [[maybe_unused]] auto const released = first->release();
  ::pause();
}

void follow(Line& line, std::string const& url) {
  auto holt = open(url);
  stand_in_line(line, holt, behind.threads, 30s);
  ::pause();
}

/// What happened around the ends of leases, up to 50 ms after each.
struct Expiries {
  std::vector<double> granted, signals, commands;
};

Expiries expire(test::RedisServer const& server) {
  auto& line = make_board<Line>();
  auto const url = server.url();
  std::vector<pid_t> children{start([&] { lead(line, url); })};
  await("the holder", [&] { return line.begun != 0; });
  for (int i = 0; i < behind.processes; ++i) {
    children.push_back(start([&] { follow(line, url); }));
  }
  await("the line", [&] { return line.full != 0; });
  CommandStats stats(server);
  Expiries seen;
  line.go = 1;
  for (int i = 1; i <= expiries; ++i) {
    await("a grant", [&] { return line.grants >= i; });
    auto const end = line.taken + nanos(short_ttl);
    sleep_until(end - nanos(10ms));
    auto const commands = stats.of_clients();
    auto const signals = stats.of("publish").number;
    sleep_until(end + nanos(50ms));
    seen.commands.push_back(static_cast<double>(stats.of_clients() - commands));
    seen.signals.push_back(static_cast<double>(stats.of("publish").number - signals));
    seen.granted.push_back(line.grants - i);
  }
  kill_all(children);
  return seen;
}

// -------------------------------------------------------------------------------------------------

void clean_rows(test::RedisServer const& bare_server, Crowd crowd) {
  auto const bare = bare_messages(bare_server, crowd.processes);
  auto const limit = percentile(bare.confirmed, 0.5);
  auto const between = fmt::format(", {} processes", crowd.processes);
  row("bare message" + between + ", p50", time_text(percentile(bare.messages, 0.5)));
  row("bare message and command" + between + ", p50", time_text(limit));
  row("bare message and command" + between + ", p99", time_text(percentile(bare.confirmed, 0.99)));
  test::RedisServer const server;
  CommandStats stats(server);
  auto const seen = hand_overs(server.url(), crowd, samples, [&] { return stats.of_clients(); });
  auto const what = fmt::format("clean release, {} waiting", crowd.waiting());
  gap_rows(what, seen.gaps, "at most 0.3 ms", "at most 3 ms");
  row(what + ", p50 / bare message and command", ratio_text(percentile(seen.gaps, 0.5) / limit));
  row(what + ", commands by clients per hand-over", fmt::format("{:.2f}", seen.commands),
      "at most 4");
}

void expiry_rows() {
  test::RedisServer const server;
  auto const seen = expire(server);
  auto const greatest = [](std::vector<double> const& values) {
    return fmt::format("{:.0f}", percentile(values, 1));
  };
  row("expiry, 1000 waiting, how many got the lock", greatest(seen.granted), "1");
  row("expiry, 1000 waiting, signals to waiters", greatest(seen.signals));
  row("expiry, 1000 waiting, commands by clients", greatest(seen.commands), "at most 6");
}

void kill_rows() {
  test::RedisServer const server;
  std::vector<double> late;
  for (int i = 0; i < 40; ++i) late.push_back(after_kill(server.url(), 300ms));
  gap_rows("after SIGKILL, past the rest of the ttl", late, "at most 3 ms", "at most 15 ms");
}

void measure() {
  test::RedisServer const server;
  head(
      "Locks: hand-over between processes, Redis",
      fmt::format(
          "From the moment before the holder calls `release()` to the moment the next process has "
          "the lock.\nEach holds for 2 ms and stands in line again at once; {} hand-overs. The "
          "bare message: from before\na PUBLISH to the moment the next of as many processes, which "
          "subscribed to it, has it; with a\ncommand: until it also has the answer to a GET, as a "
          "new holder must have its grant confirmed.\nExpiry: what happened until 50 ms after the "
          "end of a lease of 1 s, the greatest of {} times. After\nSIGKILL: ttl 300 ms, 40 times, "
          "counted from the end of the dead holder's lease. {}",
          samples, expiries, settings_of(server)));
  for (auto const crowd : {one_waits, thousand_wait}) clean_rows(server, crowd);
  expiry_rows();
  kill_rows();
}

}  // namespace
}  // namespace holt::bench

int main() { holt::bench::measure(); }
