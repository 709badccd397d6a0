// SPDX-License-Identifier: Apache-2.0
// Elections: the part of Core and of the public API.

#include <holt/election.hpp>

#include "base/random_text.hpp"
#include "client/core.hpp"
#include "client/node_name.hpp"
#include "client/standing.hpp"
#include "client/watching.hpp"
#include "contracts/election_names.hpp"
#include "primitives/trust.hpp"

#include <holt/open.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace holt {
namespace client {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view lease_prefix = election_lease_start;
constexpr std::size_t max_id_bytes = 255;
constexpr std::size_t random_part = 8;
constexpr milliseconds guard_patience{50};
constexpr milliseconds say_again{1000};
constexpr milliseconds longest{24LL * 3600 * 1000};

Name lease_of(Name const& election) {
  if (auto lease = Name::parse(std::string(lease_prefix) + election.text())) return *lease;
  throw InvalidArgument(fmt::format("an election's name of {} bytes is too long: use at most {}",
                                    election.text().size(), Name::max_bytes - lease_prefix.size()));
}

std::string checked_id(std::string_view what, std::string_view text) {
  auto const name = Name::parse(text);
  if (!name) throw InvalidArgument(fmt::format("{}: {}", what, name.error()));
  if (name->text().size() <= max_id_bytes) return name->text();
  throw InvalidArgument(fmt::format("{} of {} bytes is too long: use at most {}", what,
                                    name->text().size(), max_id_bytes));
}

void check(ElectionOptions const& options) {
  auto const ttl = options.ttl;
  if (ttl < milliseconds(100) || ttl > longest) {
    throw InvalidArgument(
        fmt::format("a ttl of {} ms is out of range: use 100 ms to 24 h", ttl.count()));
  }
  auto const rarest = std::chrono::floor<milliseconds>(trust::rarest_renewal(ttl));
  if (options.renew_every < milliseconds(0) || options.renew_every > rarest) {
    throw InvalidArgument(fmt::format(
        "renewing every {} ms cannot be safe with a ttl of {} ms: two renewals must fit before the "
        "leader has to stop, so that one may get lost; use at most {} ms, or a longer ttl",
        options.renew_every.count(), ttl.count(), rarest.count()));
  }
  if (options.priority < 1 || options.priority > 10) {
    throw InvalidArgument(
        fmt::format("a priority of {} is out of range: use 1 (first) to 10", options.priority));
  }
  if (options.lock_delay < milliseconds(0) || options.lock_delay > longest) {
    throw InvalidArgument(fmt::format("a lock delay of {} ms is out of range: use 0 to 24 h",
                                      options.lock_delay.count()));
  }
}

/// What the store would refuse is refused now: behind start() nobody could be told.
void check_by(LeaseStore const& store, Candidacy const& candidacy, Owner const& owner) {
  LeaseRequest wanted({candidacy.lease}, owner, candidacy.ttl);
  wanted.priority = candidacy.priority;
  wanted.delay = candidacy.delay;
  wanted.note = candidacy.id;
  store.check(wanted);
}

void check_patience(milliseconds deadline) {
  if (deadline >= milliseconds(0)) return;
  throw InvalidArgument("a deadline below zero is not possible: use 0 not to wait");
}

LeaderInfo leader_of(LeaseInfo const& lease) {
  LeaderInfo info{Name(lease.name.text().substr(lease_prefix.size())),
                  lease.note,
                  lease.fence,
                  lease.acquired_at,
                  lease.ttl,
                  lease.expires_in,
                  std::max(lease.ttl - lease.expires_in, milliseconds(0)),
                  lease.waiting,
                  lease.offered};
  return info;
}

}  // namespace

Standing::~Standing() {
  if (core_->forked()) {
    [[maybe_unused]] auto const* const left_alone = candidate_.release();
    return;
  }
  try {
    [[maybe_unused]] auto const how =
        core_->run_on_executor(candidate_->stop(core_->now() + Nanos(guard_patience)));
    core_->run_on_executor(candidate_->close());
  } catch (std::exception const&) {
    return;
  }
  for (auto const& [registration, gate] : gates_) gate->close();
}

Election::Registration Standing::add(Election::Listener listener, Election::Listen how) {
  auto const gate = std::make_shared<ListenerGate<ElectionEvent>>(std::move(listener));
  Election::Registration registration = 0;
  core_->on_executor([&] {
    registration =
        candidate_->events().add([gate](ElectionEvent const& event) { gate->tell(event); }, how);
  });
  std::scoped_lock const lock(gates_mutex_);
  gates_.emplace(registration, gate);
  return registration;
}

void Standing::remove(Election::Registration registration) {
  if (core_->forked()) return;
  core_->on_executor([&] { candidate_->events().remove(registration); });
  std::shared_ptr<ListenerGate<ElectionEvent>> gate;
  {
    std::scoped_lock const lock(gates_mutex_);
    auto const found = gates_.find(registration);
    if (found == gates_.end()) return;
    gate = found->second;
    gates_.erase(found);
  }
  gate->close();
}

asio::awaitable<Resignation> Standing::stop(milliseconds patience) {
  check_patience(patience);
  return stop_in_turn(patience);
}

asio::awaitable<Resignation> Standing::resign(std::string_view to, milliseconds patience) {
  check_patience(patience);
  core_->check_usable("resign");
  return resign_in_turn(to.empty() ? std::string() : checked_id("an id", to), patience);
}

asio::awaitable<Resignation> Standing::stop_in_turn(Nanos patience) {
  co_await stop_turns_.begin();
  auto const how = co_await candidate_->stop(core_->now() + patience);
  stop_turns_.end();
  co_return how;
}

asio::awaitable<Resignation> Standing::resign_in_turn(std::string to, Nanos patience) {
  co_await resign_turns_.begin();
  auto const how = co_await candidate_->resign(std::move(to), core_->now() + patience);
  resign_turns_.end();
  co_return how;
}

asio::awaitable<std::shared_ptr<Letterbox>> Standing::letters(Election::Listen how) {
  auto const letters = std::make_shared<Letterbox>();
  candidate_->tell_from_now_on(letters, how);
  co_return letters;
}

std::unique_ptr<Candidate> Core::candidate(Name const& name, ElectionOptions const& options) {
  check_usable("election");
  check(options);
  if (capabilities().waiting != Waiting::line) {
    throw InvalidArgument(
        "an election needs a store with a line of waiters, which this layout does not have: use "
        "another store or instance without layout=syncguard or layout=poll");
  }
  auto const host = options.host.empty() ? host_name() : checked_id("a host", options.host);
  auto random = random_token([this] { return env_.random(); }).substr(0, random_part);
  Candidacy candidacy(lease_of(name),
                      options.id.empty() ? fmt::format("{}-{}-{}", host, ::getpid(), random)
                                         : checked_id("an id", options.id),
                      options.ttl);
  candidacy.renew_every = options.renew_every;
  candidacy.delay = options.lock_delay;
  candidacy.patience = timeout_;
  candidacy.priority = options.priority;
  if (!options.preferred_host.empty()) {
    candidacy.preferred = checked_id("a host", options.preferred_host) == host;
    candidacy.yields = !candidacy.preferred;
  }
  check_by(engine_->leases(), candidacy,
           Owner(engine_->signals().inbox(), random_token([this] { return env_.random(); })));
  return std::make_unique<Candidate>(env_, locks_, keeper_, engine_->signals(),
                                     std::move(candidacy));
}

Election Core::election(Name const& name, ElectionOptions const& options) {
  return Election(
      std::make_unique<Standing>(shared_from_this(), env_, candidate(name, options), name));
}

std::optional<LeaderInfo> Core::leader(Name const& name) {
  auto const lease = run(find(lease_of(name), Call::Operation::lookup));
  if (!lease) return std::nullopt;
  return leader_of(*lease);
}

void Core::start_leader(Name const& name, detail::Done<std::optional<LeaderInfo>> done) {
  detail::Done<std::optional<LeaseInfo>> found =
      [done = std::move(done)](detail::Outcome<std::optional<LeaseInfo>> outcome) mutable {
        detail::Outcome<std::optional<LeaderInfo>> told(std::move(outcome.error),
                                                        std::move(outcome.client));
        if (outcome.answer) told.answer.emplace(outcome.answer->transform(leader_of));
        done(std::move(told));
      };
  start(find(lease_of(name), Call::Operation::lookup), std::move(found));
}

std::vector<LeaderInfo> Core::leaders(std::string_view prefix, std::string_view after,
                                      std::uint32_t limit) {
  std::string const whole = std::string(lease_prefix) + std::string(prefix);
  std::string const cursor =
      after.empty() ? std::string() : std::string(lease_prefix) + std::string(after);
  auto const page = run(list(whole, cursor, limit));
  std::vector<LeaderInfo> leaders;
  leaders.reserve(page.leases.size());
  for (auto const& lease : page.leases) leaders.push_back(leader_of(lease));
  return leaders;
}

Watch Core::observe(Name const& name) {
  check_usable("observe");
  auto watcher =
      std::make_unique<Watcher>(env_, *engine_, lease_of(name).text(), Watcher::Names::only_this);
  return Watch(std::make_unique<Watching>(shared_from_this(), std::move(watcher)));
}

/// The leader is told, again and again as signals may get lost; what it did is seen in the store.
Resignation Core::resign_leader(Name const& name, std::string_view to, milliseconds deadline) {
  check_patience(deadline);
  auto const lease = lease_of(name);
  auto const successor = to.empty() ? std::string() : checked_id("an id", to);
  auto seen = observe(name);
  auto const until = env_.now() + deadline;
  std::optional<LeaseInfo> leader;
  for (auto const& event : seen.next()) leader = event.lease;
  if (!leader) return Resignation::not_leader;
  if (leader->fence == Fence()) {
    throw InvalidArgument(fmt::format(
        "\"{}\" leads, which is no process of Holt: stop it where it runs", leader->note));
  }
  Signal const wish{std::string(topic::resign),
                    lease.text() + '\n' + successor + '\n' + leader->fence.decimal()};
  do {
    engine_->signals().send(leader->owner.inbox(), wish);
    auto const left = std::chrono::ceil<milliseconds>(until - env_.now());
    for (auto const& event : seen.next(std::clamp(left, milliseconds(0), say_again))) {
      if (event.lease.fence != leader->fence && !event.lease.offered) return Resignation::done;
      if (event.kind == LeaseEventKind::released || event.kind == LeaseEventKind::expired) {
        auto const next = run(find(lease, Call::Operation::lookup));
        if (!next) return Resignation::done;
      }
    }
  } while (env_.now() < until);
  return Resignation::late;
}

}  // namespace client

Election::Election(std::unique_ptr<client::Standing> standing) noexcept
    : standing_(std::move(standing)) {}
Election::Election(Election&& other) noexcept = default;
Election& Election::operator=(Election&& other) noexcept = default;
Election::~Election() = default;

void Election::start() {
  auto& core = standing_->core();
  core.check_usable("election");
  core.on_executor([&] { standing_->candidate().start(); });
}

Resignation Election::stop(std::chrono::milliseconds deadline) {
  return standing_->core().run_on_executor(standing_->stop(deadline));
}

Resignation Election::resign(std::string_view to, std::chrono::milliseconds deadline) {
  return standing_->core().run_on_executor(standing_->resign(to, deadline));
}

bool Election::is_leader() const noexcept {
  return !standing_->core().forked() && standing_->candidate().leading() != nullptr;
}
ElectionState Election::state() const { return standing_->candidate().state(); }
Fence Election::term() const {
  auto const lease = standing_->candidate().leading();
  return lease ? lease->fence() : Fence();
}
Instant Election::deadline() const {
  auto const lease = standing_->candidate().leading();
  return lease ? lease->deadline() : Instant();
}
std::string const& Election::id() const noexcept { return standing_->candidate().candidacy().id; }
Name const& Election::name() const noexcept { return standing_->election(); }

Election::Registration Election::on(Listener listener, Listen how) {
  standing_->core().check_usable("election");
  return standing_->add(std::move(listener), how);
}
void Election::remove(Registration registration) { standing_->remove(registration); }

Election Holt::election(Name const& name, ElectionOptions options) {
  return core_->election(name, options);
}
std::optional<LeaderInfo> Holt::leader(Name const& name) { return core_->leader(name); }
std::vector<LeaderInfo> Holt::leaders(std::string_view prefix, std::string_view after,
                                      std::uint32_t limit) {
  return core_->leaders(prefix, after, limit);
}
Watch Holt::observe(Name const& name) { return core_->observe(name); }
Resignation Holt::resign_leader(Name const& name, std::string_view to,
                                std::chrono::milliseconds deadline) {
  return core_->resign_leader(name, to, deadline);
}

}  // namespace holt
