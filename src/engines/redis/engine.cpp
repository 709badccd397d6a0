// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/engine.hpp"

#include "contracts/instance_names.hpp"
#include "contracts/syncguard.hpp"
#include "engines/redis/change_hints.hpp"
#include "engines/redis/diagnose.hpp"
#include "engines/redis/durable.hpp"
#include "engines/redis/instance_lease_store.hpp"
#include "engines/redis/instance_record_store.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/lease_store.hpp"
#include "engines/redis/place.hpp"
#include "engines/redis/poll_lease_store.hpp"
#include "engines/redis/poll_record_store.hpp"
#include "engines/redis/record_store.hpp"
#include "engines/redis/servers.hpp"
#include "engines/redis/signal_bus.hpp"
#include "engines/redis/sovereign_lease_store.hpp"
#include "engines/redis/syncguard_lease_store.hpp"
#include "engines/redis/syncguard_options.hpp"
#include "engines/redis/task_store.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <optional>
#include <utility>

namespace holt::redis {
namespace {

/// What a fleet's layout has in place of the native stores. Records stay native: a fleet has none.
struct SyncguardParts {
  SyncguardParts(Connection& connection, SyncguardOptions const& options)
      : keys(*options.layout, options.prefix), leases(connection, keys, options.cleanup) {}
  /// What differs from the native layout.
  void correct(std::vector<Finding>& findings) const {
    for (auto& finding : findings) {
      if (finding.id != "durability") continue;
      finding.detail =
          "single: what one server has answered. A failover, or a restart without an append-only "
          "file, may lose the last grants and take fences back";
    }
    findings.push_back({"layout",
                        "Layout",
                        FindingStatus::info,
                        fmt::format("{}, keys \"{}\": a counter for each name, no line, no notes",
                                    keys.layout().name, keys.pattern("")),
                        {}});
  }

  SyncguardKeys keys;
  SyncguardSignals signals;
  SyncguardLeaseStore leases;
};

/// What differs from the native layout.
Finding finding_of(SovereignOptions const& fleet) {
  return {
      "layout",
      "Layout",
      FindingStatus::info,
      fmt::format("sovereign: the election \"{}\" is in its fleet's keys, \"{}\" and \"{}\"; all "
                  "else is Holt's own",
                  fleet.leader_key, fleet.leader_key, fleet.heartbeat_prefix + "*"),
      {}};
}

/// What a fleet that shares its polling has in place of the native stores.
struct PollParts {
  PollParts(Env& env, Connection& connection, LeaseStore& native_leases,
            RecordStore& native_records, Keys const& keys, PollOptions options)
      : fleet(std::move(options)),
        leases(env, connection, native_leases, keys, fleet),
        records(connection, native_records, fleet) {}

  PollOptions const fleet;
  PollLeaseStore leases;
  PollRecordStore records;
};

/// What differs from the native layout.
Finding finding_of(PollOptions const& fleet) {
  return {
      "layout",
      "Layout",
      FindingStatus::info,
      fmt::format("poll: leases and nodes of polling are in their fleet's keys, \"{}*\" and "
                  "\"{}*\", written as {}, and its endpoints are \"{}*\"; all else is Holt's "
                  "own",
                  fleet.lease_start, fleet.node_start, to_string(fleet.form), fleet.session_start),
      {}};
}

/// What the register of instances has in place of the native stores.
struct InstanceParts {
  InstanceParts(Env& env, Servers& servers, DurableWrites& writes, LeaseStore& native_leases,
                RecordStore& native_records)
      : leases(env, servers, native_leases), records(servers, writes, native_records) {}

  InstanceLeaseStore leases;
  InstanceRecordStore records;
};

/// In the order in which they need each other: the last one goes first.
struct Parts {
  Parts(Env& env, Place const& place, std::string const& instance)
      : keys(instance, place.cluster.empty() ? Keys::Counting::together : Keys::Counting::by_shard),
        servers(env, place, keys),
        signals(env, place, servers, keys),
        changes(env, place, servers, keys),
        writes(env, place, keys, servers),
        leases(env, servers, writes, signals, keys),
        records(servers, writes, keys),
        tasks(env, servers, writes, signals, keys) {}
  /// Calls under way end here, while all they use is there.
  ~Parts() {
    changes.close();
    leases.close();
    signals.close();
    writes.servers().close();
    servers.close();
  }
  Parts(Parts const&) = delete;
  Parts& operator=(Parts const&) = delete;

  Keys keys;
  Servers servers;
  RedisSignalBus signals;
  ChangeHints changes;
  DurableWrites writes;
  RedisLeaseStore leases;
  RedisRecordStore records;
  RedisTaskStore tasks;
  std::unique_ptr<SyncguardParts> syncguard;       ///< with that layout
  std::unique_ptr<SovereignLeaseStore> sovereign;  ///< with that layout, for one election
  std::unique_ptr<PollParts> poll;                 ///< with that layout, for polling
  std::unique_ptr<InstanceParts> instances;        ///< in the scope of the register
};

/// How the address wants things to be stored; none: in the native layout.
struct Layout {
  std::optional<SovereignOptions> sovereign;
  std::optional<PollOptions> poll;
  std::optional<SyncguardOptions> syncguard;
  [[nodiscard]] std::string name() const {
    if (poll) return std::string(poll_layout);
    return std::string(sovereign ? sovereign_layout : syncguard->layout->name);
  }
  [[nodiscard]] bool is_native() const { return !sovereign && !poll && !syncguard; }
  [[nodiscard]] std::string url(std::string const& place) const {
    if (sovereign) return with_layout(place, *sovereign);
    if (poll) return with_layout(place, *poll);
    return syncguard ? with_layout(place, *syncguard) : place;
  }
};

class RedisEngine final : public Engine {
 public:
  RedisEngine(Env& env, Place const& place, std::string const& instance, Layout const& layout)
      : env_(env),
        place_(place),
        url_(layout.url(place.url())),
        parts_(std::make_unique<Parts>(env, place, instance)) {
    auto& parts = *parts_;
    if (layout.syncguard) {
      parts.syncguard = std::make_unique<SyncguardParts>(parts.servers.one(), *layout.syncguard);
    }
    if (layout.sovereign) {
      parts.sovereign = std::make_unique<SovereignLeaseStore>(
          parts.servers.one(), parts.leases, parts.signals, parts.keys, *layout.sovereign);
    }
    if (layout.poll) {
      parts.poll = std::make_unique<PollParts>(env, parts.servers.one(), parts.leases,
                                               parts.records, parts.keys, *layout.poll);
    }
    if (instance == register_scope) {
      parts.instances = std::make_unique<InstanceParts>(env, parts.servers, parts.writes,
                                                        parts.leases, parts.records);
    }
  }

  /// A forked child has neither the threads nor the connections: it leaves its copy alone.
  ~RedisEngine() override {
    if (::getpid() != pid_) [[maybe_unused]]
      auto* const left = parts_.release();
  }
  RedisEngine(RedisEngine const&) = delete;
  RedisEngine& operator=(RedisEngine const&) = delete;

  /// Waits until connected. Who opens a store that is not there is told so at once.
  void connect() {
    auto const deadline = env_.now() + place_.connect_timeout;
    asio::co_spawn(env_.executor(), parts_->servers.open("connect", deadline), asio::use_future)
        .get();
  }

  LeaseStore& leases() override {
    if (parts_->syncguard) return parts_->syncguard->leases;
    if (parts_->sovereign) return *parts_->sovereign;
    if (parts_->poll) return parts_->poll->leases;
    if (parts_->instances) return parts_->instances->leases;
    return parts_->leases;
  }
  RecordStore& records() override {
    if (parts_->poll) return parts_->poll->records;
    if (parts_->instances) return parts_->instances->records;
    return parts_->records;
  }
  SignalBus& signals() override {
    if (parts_->syncguard) return parts_->syncguard->signals;
    return parts_->signals;
  }
  /// A fleet's keys have no place for tasks.
  [[nodiscard]] TaskStore* tasks() override {
    bool const native = !parts_->syncguard && !parts_->sovereign && !parts_->poll;
    return native ? &parts_->tasks : nullptr;
  }
  [[nodiscard]] Capabilities capabilities() const override {
    if (parts_->syncguard) return syncguard_capabilities();
    return {.fencing = true,
            .time = TimeAuthority::server,
            .waiting = parts_->poll ? Waiting::polling : Waiting::line,
            .durability = place_.wait_replicas > 0 ? Durability::redis_wait : Durability::single,
            .embedded = false};
  }
  [[nodiscard]] std::string const& url() const override { return url_; }
  void on_gone(std::function<void(std::string reason)> /*gone*/) override {}
  std::unique_ptr<ChangeWatch> watch(std::function<void()> changed) override {
    if (parts_->syncguard || parts_->sovereign || parts_->poll) return nullptr;
    return parts_->changes.watch(std::move(changed));
  }
  asio::awaitable<std::vector<Finding>> diagnose(std::chrono::nanoseconds patience) override {
    auto const* const keys = parts_->syncguard ? nullptr : &parts_->keys;
    std::vector<Finding> findings =
        co_await redis::diagnose(env_, place_, parts_->servers, keys, patience);
    if (parts_->syncguard) parts_->syncguard->correct(findings);
    if (parts_->sovereign) findings.push_back(finding_of(parts_->sovereign->fleet()));
    if (parts_->poll) findings.push_back(finding_of(parts_->poll->fleet));
    co_return findings;
  }
  asio::awaitable<FenceRaise> raise_fence(Instant deadline) override {
    if (parts_->syncguard) refuse_to_raise_syncguard("INCRBY");
    FenceRaise const raised = co_await parts_->leases.raise_fence(deadline);
    if (tasks() != nullptr) co_await parts_->tasks.raise_fences(deadline);
    co_return raised;
  }

 private:
  Env& env_;
  Place const place_;
  std::string const url_;
  pid_t const pid_ = ::getpid();
  std::unique_ptr<Parts> parts_;
};

/// Throws InvalidArgument for what no fleet knows.
void check_layout(Layout const& layout, Place const& place, std::string const& instance) {
  if (layout.is_native()) return;
  if (instance == register_scope) {
    throw InvalidArgument("named instances are not possible with layout=" + layout.name() +
                          ": a fleet's keys have no register of them; leave layout= out of the "
                          "store's address");
  }
  check_syncguard_instance(instance, layout.name(), layout.sovereign ? "leader_key=" : "prefix=");
  if (place.wait_replicas > 0) {
    throw InvalidArgument("wait_replicas is not possible with layout=" + layout.name() +
                          ": the rest of the fleet does not wait for replicas");
  }
  if (!place.cluster.empty()) {
    throw InvalidArgument("a Redis Cluster is not possible with layout=" + layout.name() +
                          ": the keys of one lock are in several slots; use redis:// or "
                          "redis+sentinel://");
  }
}

}  // namespace

std::unique_ptr<Engine> open(Env& env, EngineOptions const& options) {
  auto url = options.url;
  Layout layout;
  layout.sovereign = take_sovereign_options(url);
  if (!layout.sovereign) layout.poll = take_poll_options(url);
  if (!layout.sovereign && !layout.poll) layout.syncguard = take_syncguard_options(url);
  auto const place = parse_place(url);
  check_layout(layout, place, options.instance);
  auto engine = std::make_unique<RedisEngine>(env, place, options.instance, layout);
  engine->connect();
  return engine;
}

}  // namespace holt::redis
