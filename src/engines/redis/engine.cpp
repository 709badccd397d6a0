// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/engine.hpp"

#include "engines/redis/connection.hpp"
#include "engines/redis/diagnose.hpp"
#include "engines/redis/durable.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/lease_store.hpp"
#include "engines/redis/place.hpp"
#include "engines/redis/record_store.hpp"
#include "engines/redis/signal_bus.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <unistd.h>

#include <utility>

namespace holt::redis {
namespace {

/// In the order in which they need each other: the last one goes first.
struct Parts {
  Parts(Env& env, Place const& place, std::string const& instance)
      : keys(instance),
        connection(env, place),
        signals(env, place, connection, keys),
        writes(env, place, connection),
        leases(env, connection, writes, signals, keys),
        records(connection, writes, keys) {}
  /// Calls under way end here, while all they use is there.
  ~Parts() {
    signals.close();
    writes.connection().close();
    connection.close();
  }
  Parts(Parts const&) = delete;
  Parts& operator=(Parts const&) = delete;

  Keys keys;
  Connection connection;
  RedisSignalBus signals;
  DurableWrites writes;
  RedisLeaseStore leases;
  RedisRecordStore records;
};

class RedisEngine final : public Engine {
 public:
  RedisEngine(Env& env, Place const& place, std::string const& instance)
      : env_(env),
        place_(place),
        url_(place.url()),
        parts_(std::make_unique<Parts>(env, place, instance)) {}

  /// A forked child has neither the threads nor the connections: it leaves its copy alone.
  ~RedisEngine() override {
    if (::getpid() != pid_) [[maybe_unused]]
      auto* const left = parts_.release();
  }
  RedisEngine(RedisEngine const&) = delete;
  RedisEngine& operator=(RedisEngine const&) = delete;

  /// Waits until connected.
  void connect() {
    auto const deadline = env_.now() + place_.connect_timeout;
    asio::co_spawn(env_.executor(), parts_->connection.ready("connect", deadline), asio::use_future)
        .get();
  }

  LeaseStore& leases() override { return parts_->leases; }
  RecordStore& records() override { return parts_->records; }
  SignalBus& signals() override { return parts_->signals; }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.fencing = true,
            .time = TimeAuthority::server,
            .waiting = Waiting::line,
            .durability = place_.wait_replicas > 0 ? Durability::redis_wait : Durability::single,
            .embedded = false};
  }
  [[nodiscard]] std::string const& url() const override { return url_; }
  void on_gone(std::function<void(std::string reason)> /*gone*/) override {}
  std::unique_ptr<ChangeWatch> watch(std::function<void()> /*changed*/) override { return nullptr; }
  asio::awaitable<std::vector<Finding>> diagnose(std::chrono::nanoseconds patience) override {
    return redis::diagnose(env_, place_, parts_->connection, parts_->keys, patience);
  }
  asio::awaitable<FenceRaise> raise_fence(Instant deadline) override {
    return parts_->leases.raise_fence(deadline);
  }

 private:
  Env& env_;
  Place const place_;
  std::string const url_;
  pid_t const pid_ = ::getpid();
  std::unique_ptr<Parts> parts_;
};

}  // namespace

std::unique_ptr<Engine> open(Env& env, EngineOptions const& options) {
  auto engine = std::make_unique<RedisEngine>(env, parse_place(options.url), options.instance);
  engine->connect();
  return engine;
}

}  // namespace holt::redis
