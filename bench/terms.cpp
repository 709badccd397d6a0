// SPDX-License-Identifier: Apache-2.0
#include "terms.hpp"

#include "processes.hpp"

#include <holt/holt.hpp>

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

/// A candidate has asked, and somebody else leads.
bool is_in_line(ElectionEvent const& event) {
  return event.kind == ElectionEventKind::state_changed &&
         event.previous == ElectionState::candidate && event.now == ElectionState::follower;
}

// After a stop. -----------------------------------------------------------------------------------

constexpr int candidates = 3;

/// What the candidates share: how many are in line, when the last leader stopped, the gaps so far.
struct Turns {
  static constexpr std::size_t room = 4096;
  std::atomic<int> in_line;
  std::atomic<std::int64_t> stopped;
  std::atomic<std::uint64_t> terms;
  std::array<std::atomic<std::int64_t>, room> gaps;
};

/// Notes in the shared memory what this candidate is told.
Election::Listener noting(Turns& turns, std::atomic<bool>& leads) {
  return [&](ElectionEvent const& event) {
    auto const told = now();
    if (event.kind == ElectionEventKind::leadership_acquired) {
      auto const before = turns.stopped.load();
      auto const index = turns.terms++;
      if (before != 0 && index < Turns::room) turns.gaps[index] = told - before;
      leads = true;
    }
    if (is_in_line(event)) ++turns.in_line;
  };
}

/// Leads for 2 ms once all others are in line, stops, stands again.
void take_turns(Turns& turns, std::string const& url) {
  auto holt = open(url);
  std::atomic<bool> leads = false;
  auto election = holt.election("e", {.ttl = 30s});
  election.on(noting(turns, leads));
  election.start();
  while (true) {
    while (!leads || turns.in_line < candidates - 1) std::this_thread::sleep_for(500us);
    std::this_thread::sleep_for(2ms);
    leads = false;
    --turns.in_line;  // the next one's place
    turns.stopped = now();
    election.stop();
    election.start();
  }
}

// After a kill. -----------------------------------------------------------------------------------

struct Killing {
  std::atomic<pid_t> leader;
  std::atomic<std::int64_t> end;    ///< of the dead leader's lease
  std::atomic<std::int64_t> taken;  ///< when the next one was told
};

void lead_for_ever(Killing& board, std::string const& url, Name const& name,
                   std::chrono::milliseconds ttl) {
  auto holt = open(url);
  auto election = holt.election(name, {.ttl = ttl});
  election.start();
  await("the first leader", [&] { return election.is_leader(); });
  board.leader = ::getpid();
  ::pause();
}

void follow(Killing& board, std::string const& url, Name const& name,
            std::chrono::milliseconds ttl) {
  auto holt = open(url);
  await("the first leader", [&] { return board.leader != 0; });
  auto election = holt.election(name, {.ttl = ttl});
  election.on([&](ElectionEvent const& event) {
    if (event.kind == ElectionEventKind::leadership_acquired) board.taken = now();
  });
  election.start();
  ::pause();
}

/// Kills the leader when another one is in line, and asks the store how long its lease has left,
/// again and again until that is little. An answer says it in whole milliseconds, rounded up, for
/// some moment after the question; so the last one of the ends that they make possible is the one
/// that counts, however slow the machine is. And a renewal may still be on its way to the store
/// when its sender dies: then the lease ends a third of a ttl later than the first answers say.
void kill_leader(Killing& board, std::string const& url, Name const& name,
                 std::chrono::milliseconds ttl) {
  auto holt = open(url);
  await("a follower", [&] {
    auto const leader = holt.leader(name);
    return leader && leader->candidates == 1;
  });
  static constexpr int phases = 16;
  static constexpr auto near = 30ms;  // the next one is not to be disturbed
  static constexpr auto pause = 7ms;  // not in step with the store's milliseconds
  std::this_thread::sleep_for(ttl / 3 * (now() % phases) / phases);
  ::kill(board.leader, SIGKILL);
  std::optional<Fence> term;
  for (auto left = ttl; left > near; std::this_thread::sleep_for(pause)) {
    auto const asked = now();
    auto const leader = holt.leader(name);
    if (!leader || leader->term != term.value_or(leader->term)) break;
    term = leader->term;
    left = leader->expires_in;
    auto const possible = asked + std::chrono::nanoseconds(left - 1ms).count();
    board.end = std::max(board.end.load(), possible);
  }
}

}  // namespace

std::vector<double> after_stop(std::string const& url, std::uint64_t wanted) {
  constexpr std::uint64_t warm_up = 10;
  if (warm_up + wanted > Turns::room) throw std::runtime_error("more gaps than there is room for");
  auto& turns = make_board<Turns>();
  std::vector<pid_t> children;
  for (int i = 0; i < candidates; ++i) children.push_back(start([&] { take_turns(turns, url); }));
  await("enough terms", [&] { return turns.terms >= warm_up + wanted; });
  kill_all(children);
  std::vector<double> seen;
  for (auto i = warm_up; i < warm_up + wanted; ++i) {
    seen.push_back(static_cast<double>(turns.gaps.at(i)) * 1e-9);
  }
  return seen;
}

double after_kill_of_leader(std::string const& url, std::chrono::milliseconds ttl) {
  auto& board = make_board<Killing>();
  Name const name(fmt::format("e-{}", now()));  // a new one each time
  std::vector<pid_t> const children{start([&] { lead_for_ever(board, url, name, ttl); }),
                                    start([&] { follow(board, url, name, ttl); }),
                                    start([&] { kill_leader(board, url, name, ttl); })};
  await("the next leader", [&] { return board.taken != 0 && board.end != 0; });
  kill_all(children);
  return static_cast<double>(board.taken - board.end) * 1e-9;
}

// Quiet ones. -------------------------------------------------------------------------------------

struct QuietElections::Board {
  std::atomic<int> leaders, followers, changes;
};

namespace {

/// Stands in all elections, each time with a client of its own and not all at the same moment.
void stand(std::string const& url, int count, std::atomic<int>& ready, std::atomic<int>& changes,
           std::function<bool(ElectionEvent const&)> const& is_ready) {
  std::vector<Holt> clients;
  std::vector<Election> elections;
  for (int i = 0; i < count; ++i) {
    clients.push_back(open(url));
    elections.push_back(clients.back().election("e-" + std::to_string(i), {.ttl = 30s}));
    elections.back().on([&](ElectionEvent const& event) { ++(is_ready(event) ? ready : changes); });
    elections.back().start();
    std::this_thread::sleep_for(300ms);
  }
  ::pause();
}

bool is_elected(ElectionEvent const& event) {
  return event.kind == ElectionEventKind::leadership_acquired;
}

}  // namespace

QuietElections::QuietElections(std::string const& leaders_url, std::string const& followers_url,
                               int count)
    : board_(make_board<Board>()), count_(count) {
  auto& board = board_;
  children_.push_back(
      start([&, count] { stand(leaders_url, count, board.leaders, board.changes, is_elected); }));
  await("the leaders", [&] { return board.leaders >= count; });
  children_.push_back(start(
      [&, count] { stand(followers_url, count, board.followers, board.changes, is_in_line); }));
  await("the followers", [&] { return board.followers >= count; });
}

void QuietElections::end() {
  kill_all(children_);
  children_.clear();
  // Each came as a candidate; each leader was told of its state, too.
  bool const quiet =
      board_.leaders == count_ && board_.followers == count_ && board_.changes == 3 * count_;
  if (!quiet) throw std::runtime_error("the elections were not quiet");
}

}  // namespace holt::bench
