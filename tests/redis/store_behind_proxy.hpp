// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of faults share: a Redis, a proxy before it that can break things, and an engine
// that knows only the proxy. What is really stored is looked up with plain commands.

#include "base/random_text.hpp"
#include "contracts/engine.hpp"
#include "env/real_env.hpp"
#include "support/engines.hpp"
#include "support/servers/redis_server.hpp"
#include "support/servers/tcp_proxy.hpp"
#include "support/servers/wait_until.hpp"

#include <holt/error.hpp>

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

/// An engine and its calls, blocking. Any thread.
class RedisCaller {
 public:
  explicit RedisCaller(std::string const& url, Nanos patience = 5s)
      : patience_(patience), engine_(open_engine(env_, {url, "default"})) {}

  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] RealEnv& env() { return env_; }
  [[nodiscard]] Instant deadline() { return env_.now() + patience_; }
  void set_patience(Nanos patience) { patience_ = patience; }
  void close() { engine_.reset(); }

  [[nodiscard]] Owner owner() {
    return {engine_->signals().inbox(), random_token([this] { return env_.random(); })};
  }
  std::expected<LeaseGrant, Busy> acquire(std::string const& name, Owner const& by,
                                          Nanos ttl = 30s) {
    return run(engine_->leases().acquire(LeaseRequest({Name(name)}, by, ttl), deadline()));
  }
  std::expected<LeaseGrant, Busy> stand_in_line(std::string const& name, Owner const& by,
                                                Nanos ttl = 30s, Nanos ticket_ttl = 30s) {
    LeaseRequest request({Name(name)}, by, ttl);
    request.stand_in_line = true;
    request.ticket_ttl = ticket_ttl;
    return run(engine_->leases().acquire(std::move(request), deadline()));
  }
  /// The fence of what must be free.
  Fence take(std::string const& name, Owner const& by, Nanos ttl = 30s) {
    auto const granted = acquire(name, by, ttl);
    EXPECT_TRUE(granted) << name << " is busy";
    return granted ? granted->fences.at(0) : Fence();
  }
  std::expected<void, Lost> renew(std::string const& name, Owner const& by, Nanos ttl = 30s) {
    std::vector<LeaseRenewal> renewals;
    renewals.emplace_back(Name(name), by, ttl);
    return run(engine_->leases().renew(std::move(renewals), deadline())).at(0);
  }
  std::expected<void, Lost> release(std::string const& name, Owner const& by) {
    return run(engine_->leases().release(Name(name), by, deadline()));
  }
  BreakResult break_lease(std::string const& name, std::string const& reason) {
    return run(engine_->leases().break_lease(BreakRequest(Name(name), reason), deadline()));
  }
  std::optional<LeaseInfo> find(std::string const& name) {
    return run(engine_->leases().find(Name(name), deadline()));
  }
  LeasePage list() { return run(engine_->leases().list("", "", 100, deadline())); }
  std::expected<std::uint64_t, Conflict> put(std::string const& key, std::string const& value,
                                             Nanos ttl = {}) {
    RecordWrite write(key, value);
    write.ttl = ttl;
    return run(engine_->records().put(std::move(write), deadline()));
  }
  std::int64_t add(std::string const& counter) {
    return run(engine_->records().add(counter, 1, deadline()));
  }

 private:
  RealEnv env_;
  Nanos patience_;
  std::unique_ptr<Engine> engine_;
};

inline std::string url_of(TcpProxy const& proxy, std::string const& options = {}) {
  return "redis://127.0.0.1:" + std::to_string(proxy.port()) + options;
}

}  // namespace holt::test
