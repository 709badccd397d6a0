// SPDX-License-Identifier: Apache-2.0
#include "sim/voter.hpp"

#include <fmt/format.h>

#include <utility>

namespace holt::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t percent = 10'000;
/// How long work may go on without a lease while its node runs: events take their time.
constexpr seconds work_slack{1};

Candidacy candidacy_of(Tools const& tools, std::uint32_t number) {
  Candidacy candidacy(Voter::lease, fmt::format("voter-{}", number), tools.options.longest_ttl);
  candidacy.patience = tools.options.longest_ttl;
  candidacy.priority = static_cast<std::int32_t>(1 + number % 3);
  return candidacy;
}

}  // namespace

Voter::Voter(Tools tools, Keeper& keeper, SignalBus& signals, std::uint32_t number)
    : tools_(tools),
      random_(tools.options.seed, fmt::format("voter {}", number)),
      candidate_(tools.env, tools.locks, keeper, signals, candidacy_of(tools, number)) {}

asio::awaitable<void> Voter::run() {
  candidate_.events().add([this](ElectionEvent const& event) { hear(event); },
                          Election::Listen::in_turn);
  candidate_.start();
  Event never(tools_.env);
  while (!over()) {
    auto const pause = random_.between(milliseconds(1), tools_.options.longest_ttl);
    [[maybe_unused]] bool const woken = co_await never.wait_until(tools_.env.now() + pause);
    check_work();
    served_ = served_ || (tools_.phase.healed && candidate_.leading());
    if (!over() && !tools_.phase.healed) co_await act();
  }
  [[maybe_unused]] auto const how = co_await candidate_.stop(tools_.env.now() + seconds(1));
  expect(!candidate_.leading(), "who has stopped does not lead");
  co_await candidate_.close();
}

asio::awaitable<void> Voter::act() {
  auto const until = tools_.env.now() + seconds(1);
  if (random_.chance(15 * percent)) {
    auto const how = co_await candidate_.stop(until);
    expect(!candidate_.leading(), "who has stopped does not lead");
    if (tools_.options.calm) expect(how != Resignation::late, "a healthy stop is in time");
    if (!dead_) candidate_.start();
  } else if (random_.chance(15 * percent)) {
    auto to = random_.chance(50 * percent)
                  ? std::string()
                  : fmt::format("voter-{}", random_.between(1, tools_.options.nodes));
    [[maybe_unused]] auto const how = co_await candidate_.resign(std::move(to), until);
  }
}

void Voter::hear(ElectionEvent const& event) {
  tools_.env.world().say(
      tools_.env.node(),
      fmt::format("[{}] {} {} to {}, term {}", candidate_.candidacy().id, to_string(event.kind),
                  to_string(event.previous), to_string(event.now), event.term.decimal()));
  switch (event.kind) {
    case ElectionEventKind::state_changed:
      expect(event.previous == state_ && event.now != state_, "states follow each other");
      state_ = event.now;
      break;
    case ElectionEventKind::leadership_acquired:
      begin(event);
      break;
    case ElectionEventKind::leadership_lost:
      end(event);
      break;
    case ElectionEventKind::election_failed:
      expect(!tools_.options.calm || tools_.phase.ending, "no election fails without a fault");
      break;
  }
}

void Voter::begin(ElectionEvent const& event) {
  expect(state_ == ElectionState::leader, "the state is told before the term");
  expect(!*working_, "a term begins when the one before has ended");
  expect(event.term > last_term_, "terms grow");
  last_term_ = event.term;
  working_ = std::make_shared<bool>(true);
  served_ = tools_.phase.healed;
  lease_ = candidate_.leading();
  if (!lease_) return;
  tools_.checker.holds(tools_.env, lease_, true);
  tools_.checker.works(lease_->owner(), working_);
}

void Voter::end(ElectionEvent const& event) {
  expect(*working_ && event.term == last_term_, "what ends has begun");
  expect(!candidate_.leading(), "who is told that it has lost the leadership does not lead");
  *working_ = false;
  idle_since_ = Instant();
  if (lease_ && event.reason == LossReason::released) tools_.checker.lets_go(*lease_);
  lease_.reset();
}

/// On the node itself: while it stands still, neither this nor the events come.
void Voter::check_work() {
  bool const idle = *working_ && !candidate_.leading();
  auto const now = tools_.env.now();
  if (!idle) {
    idle_since_ = Instant();
  } else if (idle_since_ == Instant()) {
    idle_since_ = now;
  } else {
    auto const stood_still =
        tools_.env.world().now() - tools_.env.world().running_since(tools_.env.node());
    bool const ran = stood_still > work_slack;
    expect(!ran || now - idle_since_ < work_slack, "work ends soon after its lease");
  }
}

void Voter::expect(bool is_so, std::string const& promise) {
  if (is_so || dead_) return;
  tools_.checker.violated(candidate_.candidacy().id + ": " + promise);
}

}  // namespace holt::sim
