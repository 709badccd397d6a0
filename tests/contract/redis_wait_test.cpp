// SPDX-License-Identifier: Apache-2.0
// Redis with wait_replicas: what is granted is on replicas, and survives a failover to one of them.

#include "contract/engine_test.hpp"
#include "support/overlap_log.hpp"
#include "support/servers/redis_sentinels.hpp"
#include "support/servers/wait_until.hpp"

#include <holt/error.hpp>
#include <holt/holt.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace holt::test {
namespace {

using testing::HasSubstr;

/// A server without replicas, that should have one.
class LonelyStore final : public TestStore {
 public:
  LonelyStore() { use_built_modules(); }
  [[nodiscard]] std::string url() const override {
    return server.url() + "?wait_replicas=1&wait_timeout=50";
  }
  [[nodiscard]] Env& env() override { return env_; }
  void advance(std::chrono::nanoseconds by) override { env_.advance(by); }

  RedisServer server;

 private:
  TestEnv env_;
};

template <class Work>
void expect_not_durable(Outcome outcome, Work&& work) {
  try {
    std::forward<Work>(work)();
    ADD_FAILURE() << "it was done";
  } catch (EngineError const& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_durable) << error.what();
    EXPECT_EQ(error.outcome(), outcome) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("0 of 1 replicas confirmed it within "));
  }
}

Finding durability_of(Engine& engine) {
  auto const findings = run(engine.diagnose(5s));
  auto const found = std::ranges::find(findings, "durability", &Finding::id);
  return found == findings.end() ? Finding() : *found;
}

TEST(RedisWait, AGrantThatReplicasDoNotConfirmIsTakenBack) {
  LonelyStore store;
  Client client(store);
  EXPECT_EQ(client.engine().capabilities().durability, Durability::redis_wait);
  expect_not_durable(Outcome::not_applied, [&] {
    static_cast<void>(client.acquire_all({Name("{n}x"), Name("{n}y")}, client.owner()));
  });
  EXPECT_FALSE(client.find(Name("{n}x")));
  EXPECT_FALSE(client.find(Name("{n}y")));

  auto const finding = durability_of(client.engine());
  EXPECT_EQ(finding.status, FindingStatus::fail);
  EXPECT_THAT(finding.detail, HasSubstr("redis-wait"));
  EXPECT_THAT(finding.detail, HasSubstr("there are 0, so nothing is granted"));
}

TEST(RedisWait, ARenewalOrARecordThatReplicasDoNotConfirmIsUnknown) {
  LonelyStore store;
  Client client(store);
  auto const owner = client.owner();
  auto const plain = open_engine(store.env(), {store.server.url(), "default"});
  EXPECT_EQ(plain->capabilities().durability, Durability::single);
  LeaseRequest request({Name("x")}, owner, 10s);
  ASSERT_TRUE(run(plain->leases().acquire(std::move(request), client.deadline())));
  expect_not_durable(Outcome::unknown, [&] { static_cast<void>(client.renew(Name("x"), owner)); });
  expect_not_durable(Outcome::unknown, [&] {
    run(client.engine().records().put(RecordWrite("key", "value"), client.deadline()));
  });
  expect_not_durable(Outcome::unknown,
                     [&] { run(client.engine().records().add("counter", 1, client.deadline())); });
  // Who is in the way is said all the same, and letting go needs nobody.
  EXPECT_FALSE(client.acquire(Name("x"), client.owner()));
  EXPECT_TRUE(client.release(Name("x"), owner));
}

/// Takes the lock again and again until it is told to stop, and notes when it believes to hold it.
class Worker {
 public:
  Worker(std::string const& url, std::string const& log, std::string name)
      : holt_(open(url)), log_(log), name_(std::move(name)), thread_([this] { work(); }) {}
  ~Worker() {
    stop_ = true;
    thread_.join();
  }
  Worker(Worker const&) = delete;
  Worker& operator=(Worker const&) = delete;

 private:
  void work() {
    while (!stop_) {
      try {
        auto lock = holt_.lock(Name("x"), {.ttl = 2s, .wait = 500ms});
        if (lock) hold(*lock);
      } catch (EngineError const& error) {
        EXPECT_TRUE(error.retryable() || error.code() == ErrorCode::not_durable) << error.what();
        std::this_thread::sleep_for(10ms);
      }
    }
  }

  void hold(Lock& lock) {
    auto tenure = log_.enter("x", lock.fence(), name_, lock.deadline());
    auto const until = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < until) {
      if (!tenure.still([&] { return lock.held(); }, lock.deadline())) return;
      std::this_thread::sleep_for(2ms);
    }
    tenure.leave(lock.deadline());
    static_cast<void>(lock.release());
  }

  Holt holt_;
  OverlapLog log_;
  std::string name_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST(RedisWait, AFailoverMakesNoSecondHolder) {
  use_built_modules();
  TemporaryFolder const folder;
  auto const log = folder.file("holders");
  RedisSentinels group;
  auto const url = group.url() + "?wait_replicas=2";
  {
    std::vector<std::unique_ptr<Worker>> workers;
    for (auto const* const name : {"a", "b", "c"}) {
      workers.push_back(std::make_unique<Worker>(url, log, name));
    }
    auto const more = [&](std::size_t than) {
      return wait_until([&] { return tenures_in(log) > than; }, 40s);
    };
    ASSERT_TRUE(more(15));
    auto& old = group.master();
    EXPECT_THAT(old.command({"INFO", "commandstats"}).text, HasSubstr("cmdstat_wait"));
    group.fail_over_by_kill();
    // Nothing is granted until there are two replicas again.
    auto const before = tenures_in(log);
    old.start();
    group.look_often();
    ASSERT_TRUE(more(before + 15));
  }
  EXPECT_THAT(overlaps_in(log), testing::IsEmpty());
}

/// A grant just before its master dies, which no replica has heard of.
TEST(RedisWait, WithoutItAFailoverCanForgetAGrant) {
  use_built_modules();
  RealEnv env;
  RedisSentinels group;
  auto const grant = [&](Engine& engine) {
    LeaseRequest request({Name("x")}, Owner(engine.signals().inbox(), std::string(22, 'a')), 30s);
    return run(engine.leases().acquire(std::move(request), env.now() + 5s));
  };
  auto const durable = open_engine(env, {group.url() + "?wait_replicas=1", "durable"});
  auto const first = open_engine(env, {group.url(), "default"});
  ASSERT_TRUE(grant(*durable));  // connected before the replicas are gone
  auto& old = group.master();
  for (std::size_t const replica : {1U, 2U}) group.server(replica).freeze();
  old.command({"CLIENT", "KILL", "TYPE", "replica"});
  EXPECT_THROW(static_cast<void>(grant(*durable)), EngineError);
  auto const forgotten = grant(*first);
  ASSERT_TRUE(forgotten);
  EXPECT_EQ(durability_of(*first).detail.substr(0, 7), "single:");
  old.kill();
  for (std::size_t const replica : {1U, 2U}) group.server(replica).thaw();
  group.await_master_other_than(old);

  auto const second = open_engine(env, {group.url(), "default"});
  auto const granted = grant(*second);
  ASSERT_TRUE(granted) << "the grant was not forgotten";
  EXPECT_GT(granted->fences.at(0), forgotten->fences.at(0));
}

TEST(RedisWait, DoctorNamesTheLevel) {
  use_built_modules();
  RealEnv env;
  RedisSentinels const group;
  for (auto const* const replicas : {"1", "2"}) {
    auto const engine = open_engine(env, {group.url() + "?wait_replicas=" + replicas, "default"});
    auto const finding = durability_of(*engine);
    EXPECT_THAT(finding.detail, HasSubstr("redis-wait: what " + std::string(replicas)));
    EXPECT_EQ(finding.status, *replicas == '2' ? FindingStatus::ok : FindingStatus::info);
  }
}

}  // namespace
}  // namespace holt::test
