// SPDX-License-Identifier: Apache-2.0
#include "sim/fetcher.hpp"

#include "contracts/polling_names.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace holt::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t percent = 10'000;

PollPlan plan_of(Options const& options, std::string const& name) {
  auto const& polls = options.polls;
  Random random(options.seed, "poll plan " + name);
  PollPlan plan(PollBoard::group, name);
  plan.every = polls.every;
  plan.ttl = polls.ttl;
  plan.node_ttl = polls.ttl;
  plan.discover_every = polls.ttl / 3;
  plan.settle = polls.settle;
  plan.drain = polls.drain;
  plan.patience = polls.ttl;
  if (polls.weighted) plan.weight = static_cast<double>(random.between(1, 3));
  plan.cap = polls.capped ? 1.5 : 0;
  plan.moves = polls.moves;
  bool const other = polls.disagree && random.chance(50 * percent);
  plan.weights = polls.compatible != other ? PollWeights::compatible : PollWeights::mixed;
  return plan;
}

}  // namespace

Fetcher::Fetcher(Tools tools, PollTools parts, PollBoard& board, std::string const& name)
    : tools_(tools),
      board_(board),
      random_(tools.options.seed, fmt::format("fetcher {} {}", name, tools.env.node())),
      poller_(parts, plan_of(tools.options, name)) {
  poller_.on_assigned([this](std::shared_ptr<Duty> const& duty) { assigned(duty); });
  poller_.on_lost(
      [this](std::string const& endpoint, ReleaseReason reason) { lost(endpoint, reason); });
}

void Fetcher::die() {
  dead_ = true;
  board_.leaves(poller_);
}

asio::awaitable<void> Fetcher::sleep(Nanos for_how_long) {
  Event never(tools_.env);
  [[maybe_unused]] bool const woken = co_await never.wait_until(tools_.env.now() + for_how_long);
}

void Fetcher::begin() {
  poller_.start();
  board_.joins(tools_.env, poller_);
}

asio::awaitable<void> Fetcher::run() {
  poller_.set_endpoints(board_.endpoints());
  begin();
  while (!over()) {
    co_await sleep(random_.between(milliseconds(1), tools_.options.polls.ttl));
    if (over()) break;
    if (tools_.phase.healed) {
      restore();
    } else {
      co_await act();
    }
  }
  closing_ = true;
  bool const all = co_await poller_.stop(tools_.env.now() + seconds(1));
  if (!tools_.phase.ending) expect(all && poller_.owned().empty(), "a healthy stop is in time");
  co_await poller_.close();
  board_.leaves(poller_);
}

/// All know all endpoints again.
void Fetcher::restore() {
  if (std::exchange(restored_, true)) return;
  for (auto const& endpoint : board_.endpoints()) poller_.add(endpoint);
  board_.joins(tools_.env, poller_);
}

std::string Fetcher::some_endpoint() {
  return fmt::format("e{}", random_.between(1, tools_.options.polls.endpoints));
}

asio::awaitable<void> Fetcher::act() {
  auto const what = random_.between(0, 99);
  if (what < 15) {
    co_await stop_and_start();
  } else if (what < 25) {
    poller_.remove(some_endpoint());
  } else if (what < 40) {
    poller_.add(some_endpoint());
  } else if (what < 50) {
    poller_.pause(some_endpoint(), true);
  } else if (what < 60) {
    poller_.pause(some_endpoint(), false);
  } else if (what < 65) {
    auto some = board_.endpoints();
    some.resize(static_cast<std::size_t>(random_.between(0, std::ssize(some))));
    poller_.set_endpoints(some);
  } else if (what < 70 && tools_.options.breaks) {
    co_await break_one();
  }
}

asio::awaitable<void> Fetcher::stop_and_start() {
  auto& env = tools_.env;
  auto& world = env.world();
  auto const patience = random_.between(milliseconds(20), seconds(2));
  bool const early = random_.chance(20 * percent);
  if (early) {  // the start comes while it stops
    world.schedule(env.node(), world.now() + random_.between(Nanos(0), milliseconds(20)), [this] {
      if (!over() && !closing_) begin();
    });
  }
  board_.leaves(poller_);
  auto const began = world.now();
  auto const stood_still = world.stood_still(env.node());
  bool const all = co_await poller_.stop(env.now() + patience);
  if (!all) board_.abandons(env);
  if (over()) co_return;
  auto const took = world.now() - began - (world.stood_still(env.node()) - stood_still);
  expect(took <= patience + patience / 500 + milliseconds(60) + tools_.options.faults.lateness * 4,
         "a stop ends by its deadline");
  if (early) co_return;
  expect(poller_.owned().empty(), "who has stopped owns nothing");
  if (all) expect(!board_.works(env) && ours_.empty(), "a stop waits for the work");
  if (tools_.options.calm) {
    expect(all || patience < milliseconds(200), "a healthy stop is in time");
    if (all) co_await expect_nothing_left();
  }
  co_await sleep(random_.between(Nanos(0), tools_.options.polls.ttl));
  if (!over()) begin();
}

asio::awaitable<void> Fetcher::expect_nothing_left() {
  auto const& name = poller_.plan().node;
  auto const deadline = tools_.env.now() + seconds(1);
  auto const endpoints = std::string(endpoint_lease_start) + PollBoard::group + '/';
  auto const node = Name(std::string(node_lease_start) + PollBoard::group + '/' + name);
  LeasePage page;
  std::optional<LeaseInfo> heartbeat;
  try {
    page = co_await tools_.store.list(endpoints, "", 100, deadline);
    heartbeat = co_await tools_.store.find(node, deadline);
  } catch (EngineError const& error) {
    expect(over(), std::string("no error without a fault: ") + error.what());
  }
  auto const is_ours = [&](LeaseInfo const& lease) { return lease.note == name; };
  if (over()) co_return;
  expect(std::ranges::none_of(page.leases, is_ours),
         "who has stopped has no endpoint in the store");
  expect(!heartbeat, "who has stopped is not in the store");
}

asio::awaitable<void> Fetcher::break_one() {
  BreakRequest request(Name(fmt::format("poll/{}/{}", PollBoard::group, some_endpoint())),
                       "the simulator wants it");
  try {
    [[maybe_unused]] BreakResult const answer =
        co_await tools_.store.break_lease(std::move(request), tools_.env.now() + seconds(1));
  } catch (EngineError const& error) {
    expect(!tools_.options.calm || over(),
           std::string("no error without a fault: ") + error.what());
  }
}

asio::awaitable<void> Fetcher::fetch() {
  while (!over()) {
    auto const give_up = tools_.env.now() + milliseconds(200);
    std::stop_token const nobody;
    auto turn = co_await poller_.rounds()->next(give_up, nobody);
    if (turn) {
      PollTurn const ours = *turn;
      turn.reset();
      co_await poll(ours);
    } else {
      co_await sleep(milliseconds(20));  // the rounds may be over
    }
  }
}

Nanos Fetcher::choose_length() {
  auto const& polls = tools_.options.polls;
  if (tools_.phase.healed || random_.chance(70 * percent)) {
    return random_.between(milliseconds(1), polls.every);
  }
  return random_.between(milliseconds(1), polls.ttl * 2);
}

asio::awaitable<void> Fetcher::poll(PollTurn turn) {
  auto& env = tools_.env;
  auto const duty = turn.duty;
  auto const& lease = duty->lease();
  auto const in_flight = board_.starts(env, duty);
  env.world().say(env.node(),
                  fmt::format("polls {} with fence {}", duty->endpoint(), lease.fence().value()));
  auto const [last, first] = started_.try_emplace(lease.owner().text(), turn.started);
  expect(first || turn.started - last->second >= tools_.options.polls.every,
         "polls of an endpoint keep their distance");
  last->second = turn.started;
  bool const listens = tools_.phase.healed || tools_.options.calm || !random_.chance(10 * percent);
  auto const until = env.now() + choose_length();
  Event told(env);
  std::optional<std::stop_callback<std::function<void()>>> on_told;
  on_told.emplace(duty->poll_stop(), [in_flight, told]() mutable {
    in_flight->told = true;
    told.set();
  });
  write(lease);
  while (env.now() < until && !(listens && in_flight->told) && !over()) {
    [[maybe_unused]] bool const woken = co_await told.wait_until(until);
  }
  if (!over()) co_await sleep(random_.between(Nanos(0), milliseconds(10)));
  write(lease);
  on_told.reset();
  board_.ends(in_flight);
  poller_.rounds()->done(duty, turn.started);
}

/// To what the endpoint guards: the lower fence is refused.
void Fetcher::write(KeptLease const& lease) {
  if (over()) return;
  if (lease.held(tools_.env.now())) {
    tools_.checker.writes(tools_.env, lease);
  } else {
    tools_.checker.writes_late(lease.name(), lease.fence());
  }
}

void Fetcher::assigned(std::shared_ptr<Duty> const& duty) {
  auto const [place, fresh] = ours_.emplace(duty->endpoint(), duty);
  expect(fresh, "what is assigned was lost before");
  if (!dead_) tools_.checker.holds(tools_.env, duty->shared_lease(), true);
}

void Fetcher::lost(std::string const& endpoint, ReleaseReason reason) {
  auto const found = ours_.find(endpoint);
  expect(found != ours_.end(), "what is lost was assigned");
  if (found == ours_.end()) return;
  expect(found->second->ended(), "no poll starts when it is lost");
  if (reason != ReleaseReason::expired) tools_.checker.lets_go(found->second->lease());
  ours_.erase(found);
}

void Fetcher::expect(bool is_so, std::string const& promise) {
  if (is_so || dead_) return;
  tools_.checker.violated(poller_.plan().node + ": " + promise);
}

}  // namespace holt::sim
