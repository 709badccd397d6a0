// SPDX-License-Identifier: Apache-2.0
#include "sim/client.hpp"

#include "base/random_text.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace holt::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// How long after its own deadline a call may end: scheduling, not policy.
constexpr milliseconds call_slack{60};

/// How long everyone may have to wait in a healthy world, beside ten ttl: the dead and those who
/// left late are still in the line.
constexpr seconds served_within{15};

constexpr std::uint32_t percent = 10'000;

}  // namespace

/// One attempt to take a lock, and what to do with it.
struct Client::Round {
  Name name = "unknown";
  Nanos ttl{};
  Nanos patience{};
  Nanos wait{};  ///< zero: try once
  Nanos hold{};
  Nanos cancel_after{};  ///< zero: not
  bool renew = true;
  std::int32_t priority = LeaseRequest::usual_priority;
  bool sure = false;  ///< the world is healthy: it must work
  Nanos began{};
  Nanos stood_still{};
};

Client::Client(Tools tools, std::string const& name)
    : tools_(tools),
      world_(tools.env.world()),
      random_(tools.options.seed, "client " + name),
      ranks_(tools.options.seed, "priorities of " + name),
      name_(name) {}

void Client::say(std::string const& text) {
  world_.say(tools_.env.node(), fmt::format("[{}] {}", name_, text));
}

asio::awaitable<void> Client::sleep(Nanos for_how_long) {
  Event never(tools_.env);
  [[maybe_unused]] bool const woken = co_await never.wait_until(tools_.env.now() + for_how_long);
}

asio::awaitable<void> Client::run() {
  while (!over() && sure_rounds_ > 0) {
    co_await sleep(random_.between(milliseconds(1), tools_.options.longest_ttl));
    if (over()) break;
    auto const round = choose();
    auto const& options = tools_.options;
    if (!round.sure && options.breaks && random_.chance(10 * percent)) {
      co_await break_one(round);
    } else if (!round.sure && options.strangers && random_.chance(10 * percent)) {
      co_await act_as_stranger(round);
    } else if (!round.sure && random_.chance(5 * percent)) {
      co_await look(round);
    } else {
      co_await take(round);
    }
  }
}

Client::Round Client::choose() {
  auto const& options = tools_.options;
  Round round;
  round.name = Name(fmt::format("name-{}", random_.between(1, options.names)));
  round.ttl = choose_ttl();
  round.patience = random_.between(milliseconds(100), round.ttl);
  if (random_.chance(75 * percent)) {
    round.wait = random_.between(milliseconds(20), options.longest_ttl * 8);
  }
  round.hold = random_.between(milliseconds(0), round.ttl * 2);
  round.renew = !random_.chance(25 * percent);
  if (options.cancels && random_.chance(30 * percent)) {
    round.cancel_after = random_.between(milliseconds(1), options.longest_ttl * 2);
  }
  if (options.priorities && ranks_.chance(50 * percent)) {
    round.priority = static_cast<std::int32_t>(ranks_.between(1, 10));
  }
  round.sure = tools_.phase.healed;
  if (round.sure) {
    round.patience = seconds(2);
    round.wait = served_within + options.longest_ttl * 10;
    round.hold = random_.between(milliseconds(0), milliseconds(300));
    round.renew = true;
    round.cancel_after = {};
  }
  round.began = world_.now();
  round.stood_still = world_.stood_still(tools_.env.node());
  return round;
}

/// Mostly one of the extremes: what goes wrong between two ttl needs them to differ.
Nanos Client::choose_ttl() {
  auto const& options = tools_.options;
  if (random_.chance(30 * percent)) return options.shortest_ttl;
  if (random_.chance(30 * percent)) return options.longest_ttl;
  return random_.between(options.shortest_ttl, options.longest_ttl);
}

LockRequest Client::request_of(Round const& round) {
  LockRequest request(round.name, round.ttl);
  request.wait = round.wait > Nanos{};
  request.give_up = tools_.env.now() + (request.wait ? round.wait : round.patience);
  request.patience = round.patience;
  request.renew_every = round.renew ? usual_renewal : never_renewed;
  request.priority = round.priority;
  request.note = name_;
  if (round.cancel_after > Nanos{}) {
    std::stop_source source;
    request.stop = source.get_token();
    world_.schedule(tools_.env.node(), world_.now() + round.cancel_after,
                    [source]() mutable { source.request_stop(); });
  }
  return request;
}

asio::awaitable<void> Client::take(Round round) {
  auto const lease = co_await acquire(round);
  if (over() || !lease) co_return;
  if (round.sure) {
    --sure_rounds_;
    auto const waited = world_.now() - round.began;
    tools_.phase.longest_wait = std::max(tools_.phase.longest_wait, waited);
  }
  co_await hold(round, lease);
}

asio::awaitable<std::shared_ptr<KeptLease>> Client::acquire(Round const& round) {
  auto request = request_of(round);
  say(fmt::format("wants {} for {} ms, waits {} ms", round.name.text(), round.ttl / milliseconds(1),
                  round.wait / milliseconds(1)));
  std::shared_ptr<KeptLease> lease;
  std::string otherwise;
  std::optional<EngineError> failure;
  try {
    std::expected<std::shared_ptr<KeptLease>, Busy> answer =
        co_await tools_.locks.acquire(std::move(request));
    if (answer) {
      lease = std::move(*answer);
    } else {
      otherwise = to_string(answer.error().why);
    }
  } catch (EngineError const& error) {
    failure = error;
    otherwise = error.what();
  }
  if (over()) co_return lease;
  say(fmt::format("{} {}", lease ? "has" : "does not have", round.name.text()) +
      (lease ? fmt::format(" with fence {}", lease->fence().value()) : ": " + otherwise));
  if (lease) tools_.checker.holds(tools_.env, lease, round.renew);
  if (failure) judge_error(round, *failure);
  judge(round, lease != nullptr, otherwise);
  // A wait that ends may still have to leave the line.
  judge_time("acquire", round.began, round.stood_still,
             std::max(round.wait, round.patience) + round.patience);
  co_return lease;
}

void Client::judge(Round const& round, bool granted, std::string const& otherwise) {
  if (round.sure && !granted) {
    tools_.checker.violated(
        fmt::format("everyone is served once the world is healthy: {} did not get {}: {}", name_,
                    round.name.text(), otherwise));
  }
}

/// Time in which the node did not run does not count.
void Client::judge_time(std::string_view operation, Nanos began, Nanos stood_still, Nanos allowed) {
  auto const still = world_.stood_still(tools_.env.node()) - stood_still;
  auto const took = world_.now() - began - still;
  auto const lateness = tools_.options.faults.lateness * 8;
  if (took <= allowed + allowed / 500 + call_slack + lateness) return;
  tools_.checker.violated(fmt::format("a call ends by its deadline: {} took {} ms of {}", operation,
                                      took / milliseconds(1), allowed / milliseconds(1)));
}

void Client::judge_error(Round const& round, EngineError const& error) {
  auto& checker = tools_.checker;
  if (error.code() == ErrorCode::fence_regression && !tools_.options.breaks_now) {
    checker.violated(fmt::format("no grant looks like a step back: {}", error.what()));
  }
  if (tools_.options.calm || round.sure) {
    checker.violated(fmt::format("no error without a fault: {}", error.what()));
  }
}

asio::awaitable<void> Client::hold(Round const& round, std::shared_ptr<KeptLease> lease) {
  auto& env = tools_.env;
  auto const until = env.now() + round.hold;
  write(round, *lease);
  while (!over() && env.now() < until && lease->held(env.now())) {
    co_await sleep(random_.between(milliseconds(1), round.ttl / 8));
    if (over()) break;
    write(round, *lease);
    if (!round.sure && tools_.options.extends && random_.chance(10 * percent)) {
      co_await extend(round, lease);
    }
  }
  auto const forgets = !round.renew && !tools_.options.calm && random_.chance(50 * percent);
  if (!over() && !forgets) co_await release(round, lease);
}

/// Looks, then writes: at once, or so slowly that it may have been lost meanwhile.
void Client::write(Round const& round, KeptLease const& lease) {
  if (!lease.held(tools_.env.now())) return;
  if (!random_.chance(15 * percent)) {
    tools_.checker.writes(tools_.env, lease);
    return;
  }
  auto const delay = random_.between(milliseconds(0), round.ttl * 3);
  world_.schedule(tools_.phase.outside, world_.now() + delay,
                  [&checker = tools_.checker, name = lease.name(), fence = lease.fence()] {
                    checker.writes_late(name, fence);
                  });
}

asio::awaitable<void> Client::extend(Round const& round, std::shared_ptr<KeptLease> lease) {
  auto const ttl = choose_ttl();
  auto const deadline = tools_.env.now() + round.patience;
  auto const began = world_.now();
  auto const stood_still = world_.stood_still(tools_.env.node());
  say(fmt::format("extends {} to {} ms", lease->name().text(), ttl / milliseconds(1)));
  std::optional<EngineError> failure;
  try {
    [[maybe_unused]] std::expected<void, Lost> const answer =
        co_await tools_.locks.extend(lease, ttl, deadline);
  } catch (EngineError const& error) {
    failure = error;
  }
  if (over()) co_return;
  if (failure) judge_error(round, *failure);
  judge_time("extend", began, stood_still, round.patience);
}

asio::awaitable<void> Client::release(Round const& round, std::shared_ptr<KeptLease> lease) {
  tools_.checker.lets_go(*lease);
  auto const deadline = tools_.env.now() + round.patience;
  auto const began = world_.now();
  auto const stood_still = world_.stood_still(tools_.env.node());
  bool const was_held = lease->held(tools_.env.now());
  say(fmt::format("releases {}", lease->name().text()));
  std::optional<EngineError> failure;
  std::expected<void, Lost> answer;
  try {
    answer = co_await tools_.locks.release(lease, deadline);
  } catch (EngineError const& error) {
    failure = error;
  }
  if (over()) co_return;
  if (failure) judge_error(round, *failure);
  judge_time("release", began, stood_still, round.patience);
  auto const calm = tools_.options.calm && !tools_.options.breaks;
  if (calm && was_held && !failure && !answer) {
    tools_.checker.violated("the release of a held lease succeeds without a fault");
  }
}

asio::awaitable<void> Client::break_one(Round const& round) {
  BreakRequest request(round.name, "the simulator wants it");
  request.now = tools_.options.breaks_now && random_.chance(30 * percent);
  auto const deadline = tools_.env.now() + round.patience;
  std::optional<EngineError> failure;
  try {
    [[maybe_unused]] BreakResult const answer =
        co_await tools_.store.break_lease(std::move(request), deadline);
  } catch (EngineError const& error) {
    failure = error;
  }
  if (failure && !over()) judge_error(round, *failure);
}

asio::awaitable<void> Client::look(Round const& round) {
  auto const deadline = tools_.env.now() + round.patience;
  std::optional<EngineError> failure;
  try {
    [[maybe_unused]] std::optional<LeaseInfo> const info =
        co_await tools_.store.find(round.name, deadline);
    [[maybe_unused]] LeasePage const page = co_await tools_.store.list("name-", "", 10, deadline);
  } catch (EngineError const& error) {
    failure = error;
  }
  if (failure && !over()) judge_error(round, *failure);
}

/// Releases and renews under an owner that never had anything.
asio::awaitable<void> Client::act_as_stranger(Round const& round) {
  Owner const stranger("nobody", random_token([this] { return random_.next(); }));
  auto const deadline = tools_.env.now() + round.patience;
  std::optional<EngineError> failure;
  try {
    std::expected<void, Lost> const released =
        co_await tools_.store.release(round.name, stranger, deadline);
    if (released) tools_.checker.violated("a stranger's release is refused");
    std::vector<LeaseRenewal> renewals;
    renewals.emplace_back(round.name, stranger, round.ttl);
    std::vector<std::expected<void, Lost>> const renewed =
        co_await tools_.store.renew(std::move(renewals), deadline);
    if (renewed.front()) tools_.checker.violated("a stranger's renewal is refused");
  } catch (EngineError const& error) {
    failure = error;
  }
  if (failure && !over()) judge_error(round, *failure);
}

}  // namespace holt::sim
