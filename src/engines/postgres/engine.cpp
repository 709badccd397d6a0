// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/engine.hpp"

#include "contracts/syncguard.hpp"
#include "engines/postgres/diagnose.hpp"
#include "engines/postgres/lease_store.hpp"
#include "engines/postgres/link.hpp"
#include "engines/postgres/place.hpp"
#include "engines/postgres/pool.hpp"
#include "engines/postgres/record_store.hpp"
#include "engines/postgres/schema.hpp"
#include "engines/postgres/signal_bus.hpp"
#include "engines/postgres/syncguard_lease_store.hpp"
#include "engines/postgres/syncguard_tables.hpp"
#include "engines/postgres/task_store.hpp"
#include "postgres_sql.hpp"

#include <holt/error.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <unistd.h>

#include <optional>
#include <utility>

namespace holt::postgres {
namespace {

constexpr std::chrono::seconds migration_patience{60};

/// One connection, which is not kept for long: sweeps are seldom.
constexpr PoolOptions sweeping{.max = 1, .min = 0, .idle = std::chrono::seconds(10)};

/// The counter of fences must know whom it counts for.
Pool::Greeting greeting(Place const& place, std::string const& instance) {
  Pool::Greeting greeting;
  greeting.statement = statement(in_schema(sql::know_server, place.schema));
  greeting.parameters.add(instance);
  return greeting;
}

/// What a fleet's layout has in place of the native stores. Records stay native: a fleet has none.
struct SyncguardParts {
  SyncguardParts(Env& env, Pool& pool, Pool& reads, Place const& place)
      : leases(env, pool, reads, place) {}

  SyncguardSignals signals;
  SyncguardLeaseStore leases;
};

/// In the order in which they need each other: the last one goes first.
struct Parts {
  Parts(Env& of, Place const& place, std::string const& instance)
      : env(of),
        pool(of, place.settings, place.pool, greeting(place, instance)),
        sweeps(of, place.settings, sweeping, Pool::Greeting()),
        signals(of, pool, place, instance) {
    if (place.read_at) reads.emplace(of, *place.read_at, place.pool, Pool::Greeting());
    leases.emplace(of, pool, reads ? *reads : pool, signals, place, instance);
    records.emplace(of, pool, place, instance);
    tasks.emplace(of, pool, reads ? *reads : pool, sweeps, signals, place, instance);
    if (place.syncguard) syncguard.emplace(of, pool, reads ? *reads : pool, place);
  }
  /// Calls under way end here, while all they use is there.
  ~Parts() {
    signals.close();
    if (reads) reads->close();
    sweeps.close();
    pool.close();
    // What those calls' callers do about it is behind us with the next turn of the loop.
    asio::post(env.executor(), asio::use_future([] {})).wait();
  }
  Parts(Parts const&) = delete;
  Parts& operator=(Parts const&) = delete;

  Env& env;
  Pool pool;
  Pool sweeps;
  std::optional<Pool> reads;
  PostgresSignalBus signals;
  std::optional<PostgresLeaseStore> leases;
  std::optional<PostgresRecordStore> records;
  std::optional<PostgresTaskStore> tasks;
  std::optional<SyncguardParts> syncguard;  ///< nothing: the native layout
};

class PostgresEngine final : public Engine {
 public:
  PostgresEngine(Env& env, Place place, Link link, std::string const& instance)
      : env_(env),
        place_(std::move(place)),
        url_(place_.url()),
        level_(link.server().waits_for_standby() ? Durability::pg_sync : Durability::single),
        parts_(std::make_unique<Parts>(env, place_, instance)) {
    parts_->pool.add(std::move(link));
  }

  /// A forked child has neither the threads nor the connections: it leaves its copy alone.
  ~PostgresEngine() override {
    if (::getpid() != pid_) [[maybe_unused]]
      auto* const left = parts_.release();
  }
  PostgresEngine(PostgresEngine const&) = delete;
  PostgresEngine& operator=(PostgresEngine const&) = delete;

  LeaseStore& leases() override {
    if (parts_->syncguard) return parts_->syncguard->leases;
    return *parts_->leases;
  }
  RecordStore& records() override { return *parts_->records; }
  SignalBus& signals() override {
    if (parts_->syncguard) return parts_->syncguard->signals;
    return parts_->signals;
  }
  /// A fleet has no place for tasks.
  TaskStore* tasks() override { return parts_->syncguard ? nullptr : &*parts_->tasks; }
  [[nodiscard]] Capabilities capabilities() const override {
    if (parts_->syncguard) {
      auto can = syncguard_capabilities();
      can.durability = level_;
      return can;
    }
    return {.fencing = true,
            .time = TimeAuthority::server,
            .waiting = place_.listens ? Waiting::line : Waiting::polling,
            .durability = level_,
            .embedded = false};
  }
  [[nodiscard]] std::string const& url() const override { return url_; }
  void on_gone(std::function<void(std::string reason)> /*gone*/) override {}
  std::unique_ptr<ChangeWatch> watch(std::function<void()> /*changed*/) override { return nullptr; }
  asio::awaitable<std::vector<Finding>> diagnose(std::chrono::nanoseconds patience) override {
    auto* const reads = parts_->reads ? &*parts_->reads : nullptr;
    std::vector<Finding> findings =
        co_await postgres::diagnose(env_, place_, parts_->pool, reads, parts_->signals, patience);
    if (parts_->syncguard) {
      co_await add_syncguard_findings(env_, place_, parts_->pool, patience, findings);
    }
    co_return findings;
  }
  asio::awaitable<FenceRaise> raise_fence(Instant deadline) override {
    if (parts_->syncguard) {
      refuse_to_raise_syncguard("UPDATE " + place_.syncguard.counters + " SET fence = fence + …");
    }
    return parts_->leases->raise_fence(deadline);
  }

 private:
  Env& env_;
  Place const place_;
  std::string const url_;
  Durability const level_;
  pid_t const pid_ = ::getpid();
  std::unique_ptr<Parts> parts_;
};

}  // namespace

std::unique_ptr<Engine> open(Env& env, EngineOptions const& options) {
  auto place = parse_place(options.url);
  if (place.syncguard) {
    check_syncguard_instance(options.instance, place.syncguard.layout, "table_name=");
    place.listens = false;
  }
  Link link(env, place.settings);
  if (place.syncguard) check_syncguard_tables(link, place, env.now() + migration_patience);
  prepare_schema(link, place, env.now() + migration_patience);
  return std::make_unique<PostgresEngine>(env, std::move(place), std::move(link), options.instance);
}

StoreMigrations migrate(Env& env, EngineOptions const& options, bool dry_run) {
  auto place = parse_place(options.url);
  place.migrate = true;
  Link link(env, place.settings);
  auto const deadline = env.now() + migration_patience;
  auto const before = dry_run ? look_at_schema(link, place, deadline).version
                              : prepare_schema(link, place, deadline);
  return migrations_of(place.url(), migrations, before, !dry_run);
}

}  // namespace holt::postgres
