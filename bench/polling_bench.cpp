// SPDX-License-Identifier: Apache-2.0
// Polling by several processes: how long until every endpoint has a node, how even that is, what
// moves when a node comes, how long endpoints of a killed one are not polled, and what it costs.
// The polled side writes down who polls when, and with which fence.

#include "figures.hpp"
#include "postgres_figures.hpp"
#include "processes.hpp"
#include "redis_figures.hpp"
#include "support/servers/redis_traffic.hpp"
#include "support/servers/tcp_proxy.hpp"

#include <holt/holt.hpp>

#include <fmt/core.h>

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t endpoints = 5000;
constexpr std::size_t nodes = 5;
constexpr auto every = 2s;
constexpr auto ttl = 3s;
constexpr double cap = 1.05;
constexpr double second = 1e9;

/// An endpoint, as the polled side sees it.
struct Seat {
  std::atomic<int> node;   ///< whose it is; 0: nobody's
  std::atomic<int> polls;  ///< under way
  std::atomic<std::uint64_t> fence;
  std::atomic<std::int64_t> polled;    ///< when last
  std::atomic<std::int64_t> longest;   ///< between two polls
  std::atomic<std::int64_t> assigned;  ///< when last
};

struct Board {
  std::atomic<bool> go;
  std::atomic<int> ready;
  std::atomic<std::uint64_t> assignments;
  std::atomic<std::uint64_t> polls;
  std::atomic<std::uint64_t> doubled;  ///< polls that met another one of the same endpoint
  std::atomic<std::uint64_t> refused;  ///< with a lower fence than one before
  std::array<Seat, endpoints> seats;
};

std::size_t seat_of(std::string const& endpoint) { return std::stoul(endpoint.substr(5)); }

void raise_to(auto& value, auto to) {
  auto seen = value.load();
  while (seen < to && !value.compare_exchange_weak(seen, to)) continue;
}

void poll_seat(Board& board, Poll const& poll) {
  auto& seat = board.seats.at(seat_of(poll.endpoint()));
  if (seat.polls.fetch_add(1) != 0) ++board.doubled;
  if (poll.fence().value() < seat.fence.load()) ++board.refused;
  raise_to(seat.fence, poll.fence().value());
  auto const at = now();
  auto const before = seat.polled.exchange(at);
  if (before != 0) raise_to(seat.longest, at - before);
  ++board.polls;
  --seat.polls;
}

struct Setting {
  std::string url;
  double most = 0;  ///< the cap
  std::chrono::milliseconds lease = ttl;
  bool polls = true;
};

/// One process: takes part until it is killed.
void take_part(Board& board, Setting const& setting, int number) {
  auto holt = open(setting.url);
  auto const id = fmt::format("node-{}", number);
  auto polling = holt.polling(
      "bench", {.node = id, .every = every, .ttl = setting.lease, .cap = setting.most});
  std::vector<std::string> all;
  for (std::size_t i = 0; i < endpoints; ++i) all.push_back(fmt::format("feed-{}", i));
  polling.set_endpoints(all);
  polling.on_assigned([&](Assignment const& ours) {
    auto& seat = board.seats.at(seat_of(ours.endpoint()));
    seat.node = number;
    seat.assigned = now();
    ++board.assignments;
  });
  ++board.ready;
  while (!board.go) std::this_thread::sleep_for(1ms);
  polling.start();
  while (true) {
    auto const poll = polling.next();
    if (poll && setting.polls) poll_seat(board, *poll);
  }
}

/// Processes that poll on one store.
class Fleet {
 public:
  explicit Fleet(Setting setting) : setting_(std::move(setting)) {
    for (std::size_t i = 0; i < nodes; ++i) add();
    await("processes", [&] { return board_.ready == static_cast<int>(nodes); });
  }
  ~Fleet() { kill_all(children_); }
  Fleet(Fleet const&) = delete;
  Fleet& operator=(Fleet const&) = delete;

  void add() {
    auto const number = static_cast<int>(children_.size()) + 1;
    children_.push_back(start([&] { take_part(board_, setting_, number); }));
  }
  Board& board() { return board_; }
  /// Seconds until every endpoint has a node.
  double assign() {
    auto const from = now();
    board_.go = true;
    await("every endpoint has a node", [&] { return std::ranges::all_of(board_.seats, has_node); });
    return static_cast<double>(now() - from) / second;
  }
  /// Waits until nothing moves any more.
  void settle() {
    auto seen = board_.assignments.load();
    auto since = now();
    await("nothing moves", [&] {
      auto const before = std::exchange(seen, board_.assignments.load());
      if (seen != before) since = now();
      return now() - since > std::chrono::nanoseconds(2s).count();
    });
  }
  /// The greatest share beside the mean.
  double unevenness() {
    std::vector<std::size_t> shares(children_.size() + 1);
    for (auto const& seat : board_.seats) ++shares.at(static_cast<std::size_t>(seat.node.load()));
    return static_cast<double>(*std::ranges::max_element(shares)) *
           static_cast<double>(children_.size()) / static_cast<double>(endpoints);
  }
  /// Kills the last one; how long until the last of its endpoints has another node, in seconds.
  double kill_one() {
    auto const number = static_cast<int>(children_.size());
    auto const at = now();
    kill_all({children_.back()});
    children_.pop_back();
    await("a killed node's endpoints have another", [&] {
      return std::ranges::none_of(board_.seats,
                                  [&](Seat const& seat) { return seat.node == number; });
    });
    std::int64_t last = at;
    for (auto const& seat : board_.seats) last = std::max(last, seat.assigned.load());
    return static_cast<double>(last - at) / second;
  }

 private:
  static bool has_node(Seat const& seat) { return seat.node != 0; }

  Setting setting_;
  Board& board_ = make_board<Board>();
  std::vector<pid_t> children_;
};

void join_rows(std::string const& store, Fleet& fleet) {
  auto& board = fleet.board();
  auto const before = board.assignments.load();
  for (auto& seat : board.seats) seat.longest = 0;
  fleet.add();
  await("the new node takes part", [&] { return board.assignments != before; });
  fleet.settle();
  auto const moves = static_cast<double>(board.assignments - before);
  row(store + ", a node joins, moves / the least possible",
      ratio_text(moves / (static_cast<double>(endpoints) / (nodes + 1))), "at most 1.15x");
  std::this_thread::sleep_for(every + 500ms);  // each is polled once more
  std::int64_t longest = 0;
  for (auto const& seat : board.seats) longest = std::max(longest, seat.longest.load());
  row(store + ", a node joins, longest time between two polls / interval",
      ratio_text(static_cast<double>(longest) / second /
                 std::chrono::duration<double>(every).count()),
      "no gap of more than one interval");
}

void one_store(std::string const& store, std::string const& url, std::string const& target) {
  {
    Fleet fleet({.url = url});
    row(store + ", every endpoint has a node after", time_text(fleet.assign()), target);
    fleet.settle();
    row(store + ", greatest share / mean", ratio_text(fleet.unevenness()), "at most 1.10x");
    join_rows(store, fleet);
    auto const rest = fleet.kill_one() - std::chrono::duration<double>(ttl).count();
    row(store + ", a node is killed, its last endpoint has another after its ttl and",
        time_text(std::max(rest, 0.0)), "at most 100 ms");
    fleet.settle();
    row(store + ", polls seen", std::to_string(fleet.board().polls.load()));
    row(store + ", two polls of one endpoint at once", std::to_string(fleet.board().doubled.load()),
        "none");
    row(store + ", polls with an older fence than one before",
        std::to_string(fleet.board().refused.load()), "none");
  }
  Fleet capped({.url = url, .most = cap});
  capped.assign();
  capped.settle();
  row(store + ", with a cap of 1.05: greatest share / mean", ratio_text(capped.unevenness()),
      "at most 1.05x");
  join_rows(store + ", with a cap of 1.05", capped);
}

void measure_moves() {
  head(
      "Polling: who polls what",
      fmt::format("{} endpoints on {} processes, each polled every {} s, ttl {} s. From the moment "
                  "before all processes\ncall `start()` until every endpoint has a node. Then a "
                  "sixth process joins; then it is killed with SIGKILL.\nThe least possible number "
                  "of moves is a sixth of the endpoints.",
                  endpoints, nodes, every.count(), ttl.count()));
  {
    Folder const folder;
    one_store("SQLite", "sqlite://" + (folder.path() / "store.db").string(), "");
  }
  {
    test::RedisServer const server;
    one_store("Redis", server.url(), "under 2 s");
  }
  PostgresAtWork const server;
  one_store("PostgreSQL", server->url(), "");
}

/// It names several endpoints, and says more of each; a listing only names them.
bool renews(std::vector<std::string> const& command) {
  auto const named = std::ranges::count_if(
      command, [](std::string const& word) { return word.find("feed-") != std::string::npos; });
  return named > 1 && std::ssize(command) > 2 * named;
}

void measure_cost() {
  constexpr auto watched = 60s;
  constexpr auto cycle = 10s;
  test::RedisServer const server;
  test::TcpProxy proxy(server.port());
  Fleet fleet(
      {.url = fmt::format("redis://127.0.0.1:{}", proxy.port()), .lease = 30s, .polls = false});
  fleet.assign();
  fleet.settle();
  proxy.forget();
  std::this_thread::sleep_for(watched);
  auto const sent = test::commands_sent(proxy);
  head("Polling: what it costs while nothing happens",
       fmt::format("{} endpoints on {} processes, ttl 30 s, over {} s: what clients send, as the "
                   "server gets it. {}",
                   endpoints, nodes, watched.count(), settings_of(server)));
  auto const each = [&](auto count) {
    return fmt::format("{:.1f}", static_cast<double>(count) / nodes / (watched / cycle));
  };
  row("Redis, renewals of a node per cycle of 10 s", each(std::ranges::count_if(sent, renews)),
      fmt::format("at most {}", endpoints / nodes / 100));
  row("Redis, all commands of a node per cycle", each(sent.size()));
}

}  // namespace
}  // namespace holt::bench

int main() {
  holt::bench::measure_moves();
  holt::bench::measure_cost();
}
