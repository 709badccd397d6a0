// SPDX-License-Identifier: Apache-2.0
#include "sim/poll_board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holt::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds look_every{10};
/// How long who has lost an endpoint may not have been told, while nobody else has it.
constexpr milliseconds tell_within{50};
/// In a healthy world, beside what the ttl and the interval explain: those who died are still in
/// lines, questions that were sent in the storm are still under way.
constexpr seconds recovery{10};

std::string who(PollBoard::InFlight const& poll) {
  return fmt::format("{} (fence {})", poll.env->world().name(poll.env->node()),
                     poll.duty->lease().fence().value());
}

}  // namespace

std::vector<std::string> PollBoard::endpoints() const {
  std::vector<std::string> all;
  for (std::uint32_t i = 1; i <= options_.polls.endpoints; ++i)
    all.push_back(fmt::format("e{}", i));
  return all;
}

void PollBoard::joins(SimEnv& env, Poller const& poller) {
  leaves(poller);
  seats_.push_back({&env, &poller});
}

void PollBoard::leaves(Poller const& poller) {
  std::erase_if(seats_, [&](Seat const& seat) { return seat.poller == &poller; });
  changed_ = world_.now();
}

bool PollBoard::runs(SimEnv const& env) const {
  return world_.state(env.node()) == World::State::running;
}

Nanos PollBoard::running_since(SimEnv const& env) const { return world_.running_since(env.node()); }

/// What a chain of timers and callbacks may take.
Nanos PollBoard::promptness() const { return options_.faults.lateness * 4 + milliseconds(1); }

PollBoard::Polls::iterator PollBoard::starts(SimEnv& env, std::shared_ptr<Duty> duty) {
  auto const& lease = duty->lease();
  auto const& endpoint = duty->endpoint();
  auto const poll = polls_.insert(polls_.end(), InFlight{&env, duty, nullptr, false, false, {}});
  poll->working = std::make_shared<bool>(true);
  checker_.works(lease.owner(), poll->working);
  if (!lease.held(env.now()) || !lease.confirmed()) {
    checker_.violated(fmt::format("a poll starts with a lease that is confirmed: {} polls {}",
                                  who(*poll), endpoint));
  }
  for (auto const& other : polls_) {
    if (&other != &*poll && other.duty->endpoint() == endpoint) judge_meeting(other, *poll);
  }
  auto& highest = fences_[endpoint];
  if (lease.fence() < highest) {
    checker_.violated(fmt::format("fences of polls grow: {} polls {}, polled with {} before",
                                  who(*poll), endpoint, highest.value()));
  }
  highest = std::max(highest, lease.fence());
  last_start_[endpoint] = world_.now();
  return poll;
}

/// Who had it before and is not done: was told, or does not run, or runs again only just now.
void PollBoard::judge_meeting(InFlight const& before, InFlight const& now) {
  auto const& endpoint = now.duty->endpoint();
  if (before.env == now.env && !before.abandoned) {
    checker_.violated(
        fmt::format("one poll of an endpoint at a time: {} twice at {}", who(now), endpoint));
  }
  if (world_.state(before.env->node()) == World::State::crashed) return;
  if (before.duty->held()) {
    checker_.violated(fmt::format("an endpoint is polled by one node at a time: {} by {} and {}",
                                  endpoint, who(before), who(now)));
  }
  if (before.told || !runs(*before.env)) return;
  auto const lost = before.env->true_time(before.duty->lease().deadline());
  if (world_.now() <= std::max(lost, running_since(*before.env)) + promptness()) return;
  checker_.violated(
      fmt::format("who lost it is told before another polls it: {} of {} when {} came", who(before),
                  endpoint, who(now)));
}

void PollBoard::ends(Polls::iterator poll) {
  *poll->working = false;
  polls_.erase(poll);
}

void PollBoard::abandons(SimEnv const& env) {
  for (auto& poll : polls_) poll.abandoned = poll.abandoned || poll.env == &env;
}

bool PollBoard::works(SimEnv const& env) const {
  return std::ranges::any_of(
      polls_, [&](InFlight const& poll) { return poll.env == &env && !poll.abandoned; });
}

void PollBoard::watch() {
  world_.schedule(phase_.outside, world_.now() + look_every, [this] {
    if (phase_.ending) return;
    look();
    if (!settled_) watch();
  });
}

void PollBoard::look() {
  for (auto& poll : polls_) look_at(poll);
  if (!phase_.healed) {
    changed_ = world_.now();
    return;
  }
  look_for_gaps();
  look_at_places();
}

void PollBoard::look_at(InFlight& poll) {
  if (poll.told || !runs(*poll.env) || poll.duty->held()) return;
  if (!poll.lost_since) poll.lost_since = world_.now();
  auto const since = std::max(*poll.lost_since, running_since(*poll.env));
  if (world_.now() - since <= tell_within + promptness()) return;
  checker_.violated(fmt::format("a poll is told when its endpoint is lost: {} of {}", who(poll),
                                poll.duty->endpoint()));
}

void PollBoard::look_for_gaps() {
  auto const& polls = options_.polls;
  // Where nodes disagree, nobody may feel nominated: then it is taken when it was seen free twice.
  auto const takeover = polls.disagree ? polls.ttl * 4 : polls.ttl;
  auto const allowed = polls.every * 2 + takeover + polls.drain + recovery;
  for (auto const& endpoint : endpoints()) {
    auto const gap = world_.now() - std::max(last_start_[endpoint], changed_);
    if (gap <= allowed || seats_.empty()) continue;
    checker_.violated(fmt::format("each endpoint is polled in a healthy world: {} not for {} ms",
                                  endpoint, gap / milliseconds(1)));
  }
}

std::map<std::string, std::string> PollBoard::nominees() const {
  std::vector<rendezvous::Node> nodes;
  for (auto const& seat : seats_) {
    nodes.push_back({seat.poller->plan().node, seat.poller->plan().weight});
  }
  std::ranges::sort(nodes, {}, &rendezvous::Node::id);
  auto const& plan = seats_.front().poller->plan();
  auto const ids = endpoints();
  auto const chosen = rendezvous::nominate(nodes, ids, plan.weights, plan.cap);
  std::map<std::string, std::string> nominees;
  for (std::size_t i = 0; i < ids.size(); ++i) nominees[ids[i]] = nodes[chosen[i]].id;
  return nominees;
}

/// Each endpoint has one owner, the one whom all nominate, and stays there.
void PollBoard::look_at_places() {
  if (seats_.empty()) return;
  auto const& polls = options_.polls;
  std::vector<std::string> places;
  for (auto const& seat : seats_) {
    for (auto const& endpoint : seat.poller->owned()) {
      places.push_back(endpoint + '@' + seat.poller->plan().node);
    }
  }
  std::ranges::sort(places);
  bool complete = places.size() == polls.endpoints;
  if (complete && !polls.disagree) {
    std::vector<std::string> wanted;
    for (auto const& [endpoint, node] : nominees()) wanted.push_back(endpoint + '@' + node);
    complete = places == wanted;
  }
  if (!complete || places != places_) placed_since_ = world_.now();
  places_ = std::move(places);
  settled_ = world_.now() - placed_since_ > polls.ttl * 2 + polls.every + seconds(1);
  auto const moves = static_cast<std::int64_t>(polls.endpoints);
  auto const allowed = recovery + polls.ttl * 6 + (polls.drain + polls.every) * moves;
  if (settled_ || placed_since_ - changed_ <= allowed) return;
  checker_.violated(
      fmt::format("each endpoint comes to its node and stays there: {}", fmt::join(places_, " ")));
}

}  // namespace holt::sim
