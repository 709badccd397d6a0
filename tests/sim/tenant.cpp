// SPDX-License-Identifier: Apache-2.0
#include "sim/tenant.hpp"

#include "base/random_text.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace holt::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t percent = 10'000;

}  // namespace

Tenant::Tenant(Tools tools, RecordStore& records, Landlord& landlord, std::uint32_t number)
    : tools_(tools),
      landlord_(landlord),
      random_(tools.options.seed, fmt::format("tenant {}", number)),
      instances_(tools.env, tools.store, records, tools.options.longest_ttl),
      id_(fmt::format("tenant-{}", number)),
      host_(fmt::format("host-{}", number % tools.options.tenancy.hosts)) {}

asio::awaitable<void> Tenant::run() {
  auto const& options = tools_.options;
  Event never(tools_.env);
  while (!over()) {
    // Often in haste, while what the last one asked for is still on its way.
    auto const longest =
        random_.chance(50 * percent) ? Nanos(milliseconds(50)) : options.longest_ttl;
    auto const pause = random_.between(milliseconds(1), longest);
    [[maybe_unused]] bool const woken = co_await never.wait_until(tools_.env.now() + pause);
    if (over()) break;
    bool const ended = replica_ && replica_->ending().how() != InstanceEnd::none;
    if (ended) co_await go(false);
    if (!replica_) {
      co_await come_up();
    } else if (!tools_.phase.healed) {
      co_await act();
    }
    served_ = tools_.phase.healed && replica_ && replica_->leading();
  }
  if (replica_) co_await stop();
}

void Tenant::die() {
  dead_ = true;
  if (replica_) landlord_.dies(*replica_);
}

asio::awaitable<void> Tenant::act() {
  if (random_.chance(20 * percent)) {
    co_await stop();
  } else if (random_.chance(10 * percent)) {
    co_await end_one();
  }
}

std::string Tenant::choose_name() {
  // As if somebody knew which numbers come next.
  if (random_.chance(15 * percent)) {
    return fmt::format("default-{}", landlord_.last_number() + random_.between(0, 2));
  }
  return fmt::format("name-{}", random_.between(1, tools_.options.tenancy.names));
}

Charter Tenant::charter() {
  auto const& options = tools_.options;
  Charter charter;
  auto& about = charter.about;
  if (random_.chance(70 * percent)) about.instance = choose_name();
  about.replica = random_token([this] { return random_.next(); });
  about.run_id = uuid_of(random_.next(), random_.next());
  about.workspace_path = fmt::format("/w{}", random_.between(1, options.tenancy.folders));
  about.started_at = "2025-10-05T12:34:56Z";
  about.orchestrator_pid = landlord_.next_pid();
  about.hostname = host_;
  about.address = host_;
  charter.ttl = random_.between(options.shortest_ttl, options.longest_ttl);
  charter.heartbeat = charter.ttl / 3;
  charter.patience = options.longest_ttl;
  charter.force = random_.chance(20 * percent);
  charter.join = !about.instance.empty() && random_.chance(50 * percent);
  charter.max_instances = 256;
  return charter;
}

asio::awaitable<void> Tenant::come_up() {
  auto wanted = charter();
  auto const pid = wanted.about.orchestrator_pid;
  say(fmt::format("[{}] process {} comes up as \"{}\" in {} of {}{}{}", id_, pid,
                  wanted.about.instance, wanted.about.workspace_path, host_,
                  wanted.force ? ", by force" : "", wanted.join ? ", joins" : ""));
  bool const numbered = wanted.about.instance.empty();
  replica_ = std::make_unique<Replica>(tools_.env, tools_.locks, instances_, std::move(wanted),
                                       [this, pid](InstanceEvent const& e) { hear(pid, e); });
  landlord_.arrives(tools_.env, *replica_, numbered);
  Replica::Refusal answer;
  std::optional<EngineError> failure;
  try {
    answer = co_await replica_->up();
  } catch (EngineError const& error) {
    failure = error;
  }
  say(fmt::format("[{}] process {} as \"{}\": {}", id_, pid, replica_->about().instance,
                  failure  ? failure->what()
                  : answer ? "up"
                           : fmt::format("refused ({})", static_cast<int>(answer.error().why))));
  if (failure) expect(!tools_.options.calm, "no up fails without a fault");
  if (!failure && answer && !dead_) landlord_.is_up(*replica_);
  if (!failure && !answer && !dead_) landlord_.is_refused(*replica_, answer.error());
  if (failure || !answer) co_await go(!failure);
}

/// The last of a replica, which has ended.
asio::awaitable<void> Tenant::go(bool well) {
  co_await replica_->close();
  landlord_.departs(*replica_, well && !dead_);
  replica_.reset();
}

asio::awaitable<void> Tenant::stop() {
  bool const told = co_await replica_->stop(tools_.env.now() + seconds(1));
  expect(!replica_->leading(), "who has stopped does not lead");
  if (tools_.options.calm) expect(told, "a healthy stop is in time");
  co_await go(told);
}

asio::awaitable<void> Tenant::end_one() {
  auto const& options = tools_.options;
  auto const name = random_.chance(30 * percent) ? replica_->about().instance : choose_name();
  DownOptions how;
  how.deadline = std::chrono::ceil<milliseconds>(options.longest_ttl * 2);
  how.force = options.tenancy.evicts && random_.chance(30 * percent);
  say(fmt::format("[{}] ends {}{}", id_, name, how.force ? " by force" : ""));
  landlord_.ending(tools_.env, name);
  std::optional<DownResult> answer;
  try {
    answer = co_await instances_.down(name, "because", how);
  } catch (EngineError const&) {
    expect(!options.calm, "no down fails without a fault");
  }
  if (!answer || dead_) co_return;
  say(fmt::format("[{}] ended {}: {}", id_, name, to_string(*answer)));
  landlord_.ended(tools_.env, *answer, how.force);
  if (options.calm) expect(*answer != DownResult::late, "a healthy down is in time");
}

void Tenant::hear(std::int64_t pid, InstanceEvent const& event) {
  say(fmt::format("[{}] process {} is told {} {} {}", id_, pid, to_string(event.kind),
                  event.fence.decimal(), event.detail));
  expect(pid > heard_end_of_, "who is over hears no more");
  if (event.kind == InstanceEventKind::ended) heard_end_of_ = pid;
  bool const present = replica_ && replica_->about().orchestrator_pid == pid;
  if (present && event.kind == InstanceEventKind::following) landlord_.follows(*replica_);
  expect(event.kind != InstanceEventKind::trouble || !tools_.options.calm,
         "there is no trouble without a fault");
}

void Tenant::expect(bool is_so, std::string const& promise) {
  if (is_so || dead_ || tools_.phase.ending) return;
  tools_.checker.violated(id_ + ": " + promise);
}

}  // namespace holt::sim
