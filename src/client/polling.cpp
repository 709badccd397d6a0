// SPDX-License-Identifier: Apache-2.0
// Polling: the part of Core and of the public API.

#include <holt/polling.hpp>

#include "base/random_text.hpp"
#include "client/core.hpp"
#include "client/node_name.hpp"
#include "client/poll_standing.hpp"
#include "contracts/polling_names.hpp"
#include "primitives/trust.hpp"

#include <holt/open.hpp>

#include <fmt/format.h>

#include <utility>

namespace holt {
namespace client {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds guard_patience{50};
constexpr milliseconds longest{24LL * 3600 * 1000};
constexpr std::size_t max_node_bytes = 255;

std::string group_of(Name const& polling) {
  if (polling.text().find('/') == std::string::npos) return polling.text();
  throw InvalidArgument(
      fmt::format("\"{}\" has a slash in it, which a polling's name cannot have: use another sign",
                  polling.text()));
}

void check_time(std::string_view what, milliseconds given, milliseconds least) {
  if (given >= least && given <= longest) return;
  throw InvalidArgument(fmt::format("{} of {} ms is out of range: use {} ms to 24 h", what,
                                    given.count(), least.count()));
}

void check_ttl(std::string_view what, milliseconds ttl) {
  check_time(what, ttl, std::chrono::duration_cast<milliseconds>(trust::min_ttl));
}

void check(PollingOptions const& options) {
  constexpr milliseconds zero{0};
  constexpr milliseconds one{1};
  check_ttl("a ttl", options.ttl);
  if (options.node_ttl != zero) check_ttl("a node's ttl", options.node_ttl);
  check_time("a pause between polls", options.every, one);
  check_time("a pause between looks for nodes", options.discover_every, zero);
  check_time("a time to settle", options.settle, zero);
  check_time("a time to drain", options.drain, zero);
  auto const rarest = std::chrono::floor<milliseconds>(trust::rarest_renewal(options.ttl));
  if (options.renew_every < zero || options.renew_every > rarest) {
    throw InvalidArgument(fmt::format(
        "renewing every {} ms cannot be safe with a ttl of {} ms: two renewals must fit before "
        "polls have to stop, so that one may get lost; use at most {} ms, or a longer ttl",
        options.renew_every.count(), options.ttl.count(), rarest.count()));
  }
  if (!(options.weight >= 0.001 && options.weight <= 1000)) {
    throw InvalidArgument(
        fmt::format("a weight of {} is out of range: use 0.001 to 1000", options.weight));
  }
  if (options.cap != 0 && !(options.cap >= 1 && options.cap <= 10)) {
    throw InvalidArgument(fmt::format(
        "a cap of {} is out of range: use 1 to 10 times the share, or 0 for none", options.cap));
  }
  if (options.moves < 1 || options.moves > 10'000) {
    throw InvalidArgument(
        fmt::format("{} moves at a time are out of range: use 1 to 10000", options.moves));
  }
}

/// The endpoint as it is stored: normalised, and short enough for the lease's name.
std::string checked_endpoint(std::string const& group, std::string_view endpoint) {
  auto const name = Name::parse(endpoint);
  if (!name) throw InvalidArgument(fmt::format("an endpoint: {}", name.error()));
  auto const before = endpoint_record_start.size() + group.size() + 1;
  if (name->text().size() + before <= Name::max_bytes) return name->text();
  throw InvalidArgument(
      fmt::format("an endpoint of {} bytes is too long for polling \"{}\": use "
                  "at most {}",
                  name->text().size(), group, Name::max_bytes - before));
}

std::string checked_node(std::string const& group, std::string_view node) {
  auto const name = Name::parse(node);
  if (!name) throw InvalidArgument(fmt::format("a node's id: {}", name.error()));
  auto const before = node_lease_start.size() + group.size() + 1;
  auto const most = std::min(max_node_bytes, Name::max_bytes - before);
  if (name->text().size() <= most) return name->text();
  throw InvalidArgument(fmt::format("a node's id of {} bytes is too long: use at most {}",
                                    name->text().size(), most));
}

PollPlan plan_of(std::string group, std::string node, PollingOptions const& options) {
  PollPlan plan(std::move(group), std::move(node));
  plan.every = options.every;
  plan.ttl = options.ttl;
  plan.renew_every = options.renew_every;
  plan.node_ttl = options.node_ttl.count() != 0 ? options.node_ttl : options.ttl;
  plan.discover_every =
      options.discover_every.count() != 0 ? Nanos(options.discover_every) : plan.node_ttl / 3;
  plan.settle = options.settle;
  plan.drain = options.drain;
  plan.weight = options.weight;
  plan.cap = options.cap;
  plan.moves = options.moves;
  plan.weights = options.weights;
  plan.stored = options.stored;
  return plan;
}

}  // namespace

PollStanding::~PollStanding() {
  if (core_->forked()) {
    [[maybe_unused]] auto const* const left_alone = poller_.release();
    return;
  }
  try {
    [[maybe_unused]] bool const all = core_->run_on_executor(stop(guard_patience));
    core_->run_on_executor(poller_->close());
  } catch (std::exception const&) {
    return;
  }
  gate_->close();
}

asio::awaitable<bool> PollStanding::stop(Nanos patience) {
  co_await stop_turns_.begin();
  bool const all = co_await poller_->stop(core_->now() + patience);
  stop_turns_.end();
  co_return all;
}

Polling Core::polling(Name const& name, PollingOptions const& options) {
  check_usable("polling");
  auto group = group_of(name);
  check(options);
  if (!capabilities().notes) {
    throw InvalidArgument(
        "polling needs a store whose leases keep a note, which this layout does not: use another "
        "store or instance without layout=syncguard");
  }
  auto node = options.node.empty() ? node_name(env_) : std::string(options.node);
  node = checked_node(group, node);
  [[maybe_unused]] auto const shortest = checked_endpoint(group, "x");
  auto plan = plan_of(std::move(group), std::move(node), options);
  plan.patience = timeout_;
  plan.line = capabilities().waiting == Waiting::line;
  PollTools const tools{env_, locks_, keeper_, leases(), &engine_->records(), engine_->signals(),
                        log_};
  auto poller = std::make_unique<Poller>(tools, std::move(plan));
  return Polling(std::make_unique<PollStanding>(shared_from_this(), env_, std::move(poller), name));
}

/// Durable when it returns; nodes that miss the hint find it at their next look.
bool Core::add_endpoint(Name const& polling, std::string_view endpoint) {
  check_usable("add_endpoint");
  auto const group = group_of(polling);
  RecordWrite write(
      fmt::format("{}{}/{}", endpoint_record_start, group, checked_endpoint(group, endpoint)), "");
  write.expected = 0;
  bool const added = run(engine_->records().put(std::move(write), call_deadline())).has_value();
  if (added) engine_->signals().publish({std::string(topic::endpoints), group});
  return added;
}

bool Core::remove_endpoint(Name const& polling, std::string_view endpoint) {
  check_usable("remove_endpoint");
  auto const group = group_of(polling);
  auto const key =
      fmt::format("{}{}/{}", endpoint_record_start, group, checked_endpoint(group, endpoint));
  auto const erased = run(engine_->records().erase(key, {}, call_deadline()));
  bool const removed = erased && *erased;
  if (removed) engine_->signals().publish({std::string(topic::endpoints), group});
  return removed;
}

bool Core::pause_endpoint(Name const& polling, std::string_view endpoint, bool paused) {
  check_usable("pause_endpoint");
  auto const group = group_of(polling);
  auto const key =
      fmt::format("{}{}/{}", endpoint_record_start, group, checked_endpoint(group, endpoint));
  std::string const value(paused ? paused_endpoint : std::string_view());
  while (true) {
    auto const found = run(engine_->records().get(key, call_deadline()));
    if (!found || found->value == value) return false;
    RecordWrite write(key, value);
    write.expected = found->version;
    if (run(engine_->records().put(std::move(write), call_deadline()))) break;
  }
  engine_->signals().publish({std::string(topic::endpoints), group});
  return true;
}

}  // namespace client

Assignment::Assignment(std::shared_ptr<Duty> duty) noexcept : duty_(std::move(duty)) {}
std::string const& Assignment::endpoint() const noexcept { return duty_->endpoint(); }
Fence Assignment::fence() const noexcept { return duty_->lease().fence(); }
bool Assignment::may_poll() const noexcept { return duty_->may_poll(); }
bool Assignment::held() const noexcept { return duty_->held(); }
Instant Assignment::deadline() const noexcept { return duty_->lease().deadline(); }
std::stop_token Assignment::lost() const noexcept { return duty_->assignment_stop(); }

Poll::Poll(std::shared_ptr<Rounds> rounds, std::shared_ptr<Duty> duty, Instant started) noexcept
    : rounds_(std::move(rounds)), duty_(std::move(duty)), started_(started) {}
Poll::Poll(Poll&& other) noexcept = default;
Poll& Poll::operator=(Poll&& other) noexcept {
  if (this != &other) {
    end();
    rounds_ = std::move(other.rounds_);
    duty_ = std::move(other.duty_);
    started_ = other.started_;
  }
  return *this;
}
Poll::~Poll() { end(); }
void Poll::end() noexcept {
  if (auto const rounds = std::exchange(rounds_, nullptr)) rounds->done(duty_, started_);
}
std::string const& Poll::endpoint() const noexcept { return duty_->endpoint(); }
Fence Poll::fence() const noexcept { return duty_->lease().fence(); }
bool Poll::held() const noexcept { return duty_->held(); }
Instant Poll::deadline() const noexcept { return duty_->lease().deadline(); }
std::stop_token Poll::lost() const noexcept { return duty_->poll_stop(); }

Polling::Polling(std::unique_ptr<client::PollStanding> standing) noexcept
    : standing_(std::move(standing)) {}
Polling::Polling(Polling&& other) noexcept = default;
Polling& Polling::operator=(Polling&& other) noexcept = default;
Polling::~Polling() = default;

void Polling::set_endpoints(std::vector<std::string> const& endpoints) {
  standing_->core().check_usable("polling");
  auto const& group = standing_->poller().plan().group;
  std::vector<std::string> checked;
  checked.reserve(endpoints.size());
  for (auto const& endpoint : endpoints)
    checked.push_back(client::checked_endpoint(group, endpoint));
  standing_->core().on_executor([&] { standing_->poller().set_endpoints(checked); });
}

void Polling::add(std::string_view endpoint) {
  standing_->core().check_usable("polling");
  auto const checked = client::checked_endpoint(standing_->poller().plan().group, endpoint);
  standing_->core().on_executor([&] { standing_->poller().add(checked); });
}

void Polling::remove(std::string_view endpoint) {
  standing_->core().check_usable("polling");
  auto const checked = client::checked_endpoint(standing_->poller().plan().group, endpoint);
  standing_->core().on_executor([&] { standing_->poller().remove(checked); });
}

void Polling::pause(std::string_view endpoint) {
  standing_->core().check_usable("polling");
  std::string const id(endpoint);
  standing_->core().on_executor([&] { standing_->poller().pause(id, true); });
}

void Polling::resume(std::string_view endpoint) {
  standing_->core().check_usable("polling");
  std::string const id(endpoint);
  standing_->core().on_executor([&] { standing_->poller().pause(id, false); });
}

void Polling::on_assigned(OnAssigned assigned) {
  standing_->core().check_usable("polling");
  auto call = [gate = standing_->gate(), core = std::weak_ptr(standing_->shared_core()),
               assigned = std::move(assigned)](std::shared_ptr<Duty> const& duty) {
    auto client = core.lock();
    if (!client) return;
    Assignment const ours(client::PollStanding::with_client(std::move(client), duty));
    gate->pass([&] { assigned(ours); });
  };
  standing_->core().on_executor([&] { standing_->poller().on_assigned(std::move(call)); });
}

void Polling::on_lost(OnLost lost) {
  standing_->core().check_usable("polling");
  auto call = [gate = standing_->gate(), lost = std::move(lost)](std::string const& endpoint,
                                                                 ReleaseReason reason) {
    gate->pass([&] { lost(endpoint, reason); });
  };
  standing_->core().on_executor([&] { standing_->poller().on_lost(std::move(call)); });
}

void Polling::start() {
  standing_->core().check_usable("polling");
  standing_->core().on_executor([&] { standing_->poller().start(); });
}

bool Polling::stop(std::chrono::milliseconds deadline) {
  if (deadline < std::chrono::milliseconds(0)) {
    throw InvalidArgument("a deadline below zero is not possible: use 0 not to wait");
  }
  return standing_->core().run_on_executor(standing_->stop(deadline));
}

std::optional<Poll> Polling::next(std::stop_token stop, std::chrono::milliseconds wait) {
  auto& core = standing_->core();
  core.check_usable("polling");
  constexpr auto too_long = std::chrono::hours(24 * 365 * 100);
  auto const give_up = wait >= too_long ? Instant::max() : core.now() + wait;
  auto turn = core.run_on_executor(standing_->poller().rounds()->next(give_up, std::move(stop)));
  if (!turn) return std::nullopt;
  using client::PollStanding;
  auto const& shared = standing_->shared_core();
  return Poll(PollStanding::with_client(shared, standing_->poller().rounds()),
              PollStanding::with_client(shared, std::move(turn->duty)), turn->started);
}

EndpointState Polling::state(std::string_view endpoint) const {
  std::string const id(endpoint);
  auto state = EndpointState::unknown;
  standing_->core().on_executor([&] { state = standing_->poller().state(id); });
  return state;
}

std::vector<std::string> Polling::owned() const {
  std::vector<std::string> ids;
  standing_->core().on_executor([&] { ids = standing_->poller().owned(); });
  return ids;
}

std::string const& Polling::node() const noexcept { return standing_->poller().plan().node; }
Name const& Polling::name() const noexcept { return standing_->polling(); }

Polling Holt::polling(Name const& name, PollingOptions options) {
  return core_->polling(name, options);
}
std::vector<NodeInfo> Holt::nodes(std::string_view polling) { return core_->nodes(polling); }
std::vector<EndpointInfo> Holt::endpoints(Name const& polling) { return core_->endpoints(polling); }
bool Holt::add_endpoint(Name const& polling, std::string_view endpoint) {
  return core_->add_endpoint(polling, endpoint);
}
bool Holt::remove_endpoint(Name const& polling, std::string_view endpoint) {
  return core_->remove_endpoint(polling, endpoint);
}
bool Holt::pause_endpoint(Name const& polling, std::string_view endpoint, bool paused) {
  return core_->pause_endpoint(polling, endpoint, paused);
}

}  // namespace holt
