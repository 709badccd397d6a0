// SPDX-License-Identifier: Apache-2.0
#include "support/engines.hpp"

#include "support/postgres_stores.hpp"
#include "support/postgres_syncguard_store.hpp"
#include "support/redis_instances_store.hpp"
#include "support/redis_poll_store.hpp"
#include "support/redis_sovereign_store.hpp"
#include "support/redis_stores.hpp"
#include "support/redis_syncguard_store.hpp"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <ostream>

namespace holt::test {
namespace {

class SqliteTestStore final : public TestStore {
 public:
  [[nodiscard]] std::string url() const override { return "sqlite://" + folder_.file("holt.db"); }
  [[nodiscard]] Env& env() override { return env_; }
  void advance(std::chrono::nanoseconds by) override { env_.advance(by); }

 private:
  TemporaryFolder folder_;
  TestEnv env_;
};

/// The SQLite engine behind a module (tests/module): the contracts hold across the border too.
class ModuleTestStore final : public TestStore {
 public:
  [[nodiscard]] std::string url() const override { return "relay://" + folder_.file("holt.db"); }
  [[nodiscard]] Env& env() override { return env_; }
  void advance(std::chrono::nanoseconds by) override { env_.advance(by); }

 private:
  TemporaryFolder folder_;
  TestEnv env_;
};

/// Who is dead is seen when its place in line ends.
std::vector<Exclusion> not_on_a_cluster() {
  constexpr std::string_view why = "a node of a cluster does not know who listens to others";
  return {{"LeaseLine.AWaiterWhoseProcessIsGoneIsSkippedAtOnce", why},
          {"LeaseLine.NothingStaysWhenAllWaitersAreGone", why}};
}

/// Suites that together send every command there is. What only the others show does not depend on
/// rights or on TLS, and six nodes take seconds to start.
constexpr auto every_command = std::to_array<std::string_view>(
    {"LeaseAcquire", "LeaseRenew", "LeaseRelease", "LeaseBreak", "LeaseLine", "LeaseListing",
     "RecordVersions", "RecordErase", "RecordListing", "RecordCounters", "SignalTest",
     "EngineWatch", "TaskAdd", "TaskClaim", "TaskRenewal", "TaskCancel", "TaskListing"});

/// Those whose Engine::tasks() is not null; TaskStores.AreWhereTheSuitesThink holds it in place.
constexpr auto with_tasks = std::to_array<std::string_view>({"sqlite", "module"});

void leave_out_those_without_tasks(std::string_view suite, std::vector<EngineUnderTest>& engines) {
  if (!suite.starts_with("Task") || suite == "TaskStores") return;
  std::erase_if(engines, [](auto const& engine) { return !has_tasks(engine.name); });
}

/// Suites in which keys of the register are written that are in other slots than its leases.
constexpr auto across_slots = std::to_array<std::string_view>(
    {"LeaseAcquire", "LeaseRelease", "RecordVersions", "RecordExpiry", "RecordListing"});

template <class Store>
std::unique_ptr<TestStore> make() {
  use_built_modules();
  return std::make_unique<Store>();
}

}  // namespace

void use_built_modules() { ::setenv("HOLT_ENGINE_PATH", HOLT_TEST_MODULES, 1); }

std::string_view EngineUnderTest::excluded(std::string_view tests) const {
  auto const found = std::ranges::find(exclusions, tests, &Exclusion::tests);
  return found == exclusions.end() ? std::string_view() : found->why;
}

bool has_tasks(std::string_view engine) {
  return std::ranges::find(with_tasks, engine) != with_tasks.end();
}

std::vector<EngineUnderTest> engines_under_test(std::string_view suite) {
  std::vector<EngineUnderTest> engines{
      {"sqlite", make<SqliteTestStore>},
      {"module", make<ModuleTestStore>},
      {"redis", make<RedisTestStore>},
      {"postgres", make<PostgresTestStore>},
      {"redis_syncguard", make<RedisSyncguardTestStore>, not_in_redis_syncguard()},
      {"postgres_syncguard", make<PostgresSyncguardTestStore>, not_in_syncguard()},
  };
  // All but one election is the native layout's there.
  if (suite == "Elections") {
    engines.push_back({"redis_sovereign", make<RedisSovereignTestStore>, not_in_redis_sovereign()});
  }
  // There the leases of polling are the fleet's, and records but those of endpoints are native.
  if (suite.starts_with("Lease") || suite.starts_with("Record")) {
    engines.push_back({"redis_poll", make<RedisPollTestStore>, not_in_redis_poll()});
  }
  if (suite.starts_with("Lease")) {
    engines.push_back({"redis_poll_plain", make<RedisPollPlainTestStore>, not_in_redis_poll()});
  }
  // There names and records are kept where everybody can read them.
  if (suite.starts_with("Lease") || suite.starts_with("Record")) {
    engines.push_back({"redis_instances", make<RedisInstancesTestStore>, not_in_redis_instances()});
  }
  auto const whole = std::string(suite) + ".*";
  std::erase_if(engines, [&](auto const& engine) { return !engine.excluded(whole).empty(); });
  leave_out_those_without_tasks(suite, engines);
  return engines;
}

std::vector<EngineUnderTest> stores_under_test(std::string_view suite) {
  auto stores = engines_under_test(suite);
  stores.push_back({"redis_tls", make<RedisTlsTestStore>});
  stores.push_back({"redis_acl", make<RedisAclTestStore>});
  stores.push_back({"redis_sentinel", make<RedisSentinelTestStore>});
  stores.push_back({"redis_cluster", make<RedisClusterTestStore>, not_on_a_cluster()});
  if (std::ranges::find(every_command, suite) != every_command.end()) {
    stores.push_back(
        {"redis_guarded_cluster", make<RedisGuardedClusterTestStore>, not_on_a_cluster()});
  }
  if (std::ranges::find(across_slots, suite) != across_slots.end()) {
    stores.push_back({"redis_cluster_instances", make<RedisClusterInstancesTestStore>});
  }
  leave_out_those_without_tasks(suite, stores);
  return stores;
}

void PrintTo(EngineUnderTest const& engine, std::ostream* out) { *out << engine.name; }

}  // namespace holt::test
