// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of the PostgreSQL engine share: an engine and its calls, blocking.

#include "base/random_text.hpp"
#include "contracts/engine.hpp"
#include "engines/postgres/engine.hpp"
#include "env/real_env.hpp"
#include "support/engines.hpp"
#include "support/servers/postgres_server.hpp"
#include "support/servers/wait_until.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holt::test {

using namespace std::chrono_literals;

/// The EngineError that `work` throws; nothing when it does not.
template <class Work>
std::optional<EngineError> error_of(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (EngineError const& error) {
    return error;
  }
  return std::nullopt;
}

/// Any thread.
class PostgresCaller {
 public:
  explicit PostgresCaller(std::string const& url, Nanos patience = 10s)
      : patience_(patience), engine_(postgres::open(env_, {url, "default"})) {}

  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] Instant deadline() { return env_.now() + patience_; }
  [[nodiscard]] Instant now() { return env_.now(); }
  void set_patience(Nanos patience) { patience_ = patience; }

  [[nodiscard]] Owner owner() {
    return {engine_->signals().inbox(), random_token([this] { return env_.random(); })};
  }
  std::expected<LeaseGrant, Busy> acquire(std::string const& name, Owner const& by, Nanos ttl = 60s,
                                          bool line = false) {
    LeaseRequest request({Name(name)}, by, ttl);
    request.stand_in_line = line;
    request.ticket_ttl = 60s;
    return on_loop(engine_->leases().acquire(std::move(request), deadline()));
  }
  /// Those that are begun one right after the other go to the server together.
  std::future<std::expected<LeaseGrant, Busy>> begin_acquire(std::string const& name,
                                                             Owner const& by) {
    return asio::co_spawn(
        env_.executor(), engine_->leases().acquire(LeaseRequest({Name(name)}, by, 60s), deadline()),
        asio::use_future);
  }
  /// The fence of what must be free.
  Fence take(std::string const& name, Owner const& by, Nanos ttl = 60s) {
    auto const granted = acquire(name, by, ttl);
    EXPECT_TRUE(granted) << name << " is busy";
    return granted ? granted->fences.at(0) : Fence();
  }
  std::expected<void, Lost> renew(std::string const& name, Owner const& by, Nanos ttl = 60s) {
    std::vector<LeaseRenewal> renewals;
    renewals.emplace_back(Name(name), by, ttl);
    return on_loop(engine_->leases().renew(std::move(renewals), deadline())).at(0);
  }
  std::vector<std::expected<void, Lost>> renew_all(std::vector<LeaseRenewal> renewals) {
    return on_loop(engine_->leases().renew(std::move(renewals), deadline()));
  }
  std::expected<void, Lost> release(std::string const& name, Owner const& by) {
    return on_loop(engine_->leases().release(Name(name), by, deadline()));
  }
  BreakResult break_lease(std::string const& name, std::string const& reason) {
    return on_loop(engine_->leases().break_lease(BreakRequest(Name(name), reason), deadline()));
  }
  std::optional<LeaseInfo> find(std::string const& name) {
    return on_loop(engine_->leases().find(Name(name), deadline()));
  }
  LeasePage list() { return on_loop(engine_->leases().list("", "", 100, deadline())); }
  std::expected<std::uint64_t, Conflict> put(std::string const& key, std::string const& value) {
    return on_loop(engine_->records().put(RecordWrite(key, value), deadline()));
  }
  std::optional<Record> get(std::string const& key) {
    return on_loop(engine_->records().get(key, deadline()));
  }
  std::int64_t add(std::string const& counter) {
    return on_loop(engine_->records().add(counter, 1, deadline()));
  }
  std::vector<Finding> diagnose() {
    return asio::co_spawn(env_.blocking(), engine_->diagnose(5s), asio::use_future).get();
  }

 protected:
  /// The engine belongs to the loop of its environment.
  template <class T>
  T on_loop(asio::awaitable<T> work) {
    return begin_on_loop(std::move(work)).get();
  }
  template <class T>
  std::future<T> begin_on_loop(asio::awaitable<T> work) {
    return asio::co_spawn(env_.executor(), std::move(work), asio::use_future);
  }
  /// All of them in one turn of the loop: they go to the server together.
  template <class T>
  std::vector<T> all_on_loop(std::vector<asio::awaitable<T>> works) {
    std::vector<std::future<T>> begun;
    std::promise<void> all_begun;
    asio::post(env_.executor(), [&] {
      for (auto& work : works) begun.push_back(begin_on_loop(std::move(work)));
      all_begun.set_value();
    });
    all_begun.get_future().wait();
    std::vector<T> answers;
    for (auto& one : begun) answers.push_back(one.get());
    return answers;
  }

 private:
  RealEnv env_;
  Nanos patience_;
  std::unique_ptr<Engine> engine_;
};

/// No call leaves a transaction behind that nobody goes on with.
inline void expect_no_idle_transaction(PostgresServer const& server) {
  EXPECT_TRUE(wait_until([&] {
    return server.query("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'") == "0";
  }));
}

/// One server for a whole suite of tests that does it no harm.
class OnOneServer : public testing::Test {
 protected:
  void TearDown() override { expect_no_idle_transaction(server()); }
  static PostgresServer& server() {
    static PostgresServer it;
    return it;
  }
  /// A store that nobody has used.
  [[nodiscard]] static std::string new_schema() {
    static int count = 0;
    return "s" + std::to_string(++count);
  }

  std::string const schema_ = new_schema();
  std::string const url_ = server().url() + "?schema=" + schema_;
};

}  // namespace holt::test
