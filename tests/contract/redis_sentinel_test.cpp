// SPDX-License-Identifier: Apache-2.0
// Redis behind Sentinels: which server is used, and that a failover is followed.

#include "contract/engine_test.hpp"
#include "support/servers/redis_sentinels.hpp"
#include "support/servers/wait_until.hpp"

#include <holt/error.hpp>

#include <gmock/gmock.h>

#include <fstream>
#include <optional>
#include <string>

namespace holt::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A group of this test's own, on the machine's clock.
class GroupStore final : public TestStore {
 public:
  explicit GroupStore(RedisOptions const& servers = {}, std::string const& sentinel_password = {})
      : group(servers, sentinel_password) {
    use_built_modules();
  }
  [[nodiscard]] std::string url() const override { return group.url() + options; }
  [[nodiscard]] Env& env() override { return env_; }
  /// Of the clients only: as if nothing had been asked for so long.
  void advance(std::chrono::nanoseconds by) override { env_.advance(by); }

  RedisSentinels group;
  std::string options;

 private:
  TestEnv env_;
};

/// Takes the name as soon as the store can be used again.
Fence take_when_possible(Client& client, Name const& name, Owner const& owner) {
  std::optional<Fence> fence;
  EXPECT_TRUE(wait_until([&] {
    try {
      auto const granted = client.acquire(name, owner, {.ttl = 30s});
      if (granted) fence = granted->fences.at(0);
    } catch (EngineError const& error) {
      EXPECT_TRUE(error.retryable()) << error.what();
    }
    return fence.has_value();
  }));
  return fence.value_or(Fence());
}

bool holds(RedisServer const& server, std::string const& name) {
  auto const keys = server.command({"KEYS", "holt:default:*:l:" + name}).items;
  return !keys.empty();
}

std::string failure_of(TestStore& store) {
  try {
    static_cast<void>(store.open());
  } catch (EngineError const& error) {
    EXPECT_EQ(error.code(), ErrorCode::service_unavailable);
    return std::string(error.what()) + "\nTry: " + error.hint();
  }
  ADD_FAILURE() << "it was opened";
  return {};
}

TEST(RedisSentinel, AFailoverIsFollowed) {
  GroupStore store;
  Client client(store);
  Client other(store);
  auto const kept = client.owner();
  client.take(Name("kept"), kept, {.ttl = 60s});
  auto const owner = client.owner();
  auto const before = client.take(Name("x"), owner, {.ttl = 30s});
  ASSERT_TRUE(client.release(Name("x"), owner));
  auto& old = store.group.master();
  RedisSentinels::await_replicas(old, 2);

  auto& now = store.group.fail_over_by_kill();
  auto const after = take_when_possible(client, Name("x"), client.owner());
  EXPECT_GT(after, before);
  EXPECT_TRUE(holds(now, "x"));
  // Its holder finds that the lease is still there, or that it is gone.
  auto const renewed = client.renew(Name("kept"), kept, 60s);
  EXPECT_EQ(renewed.has_value(), holds(now, "kept"));

  // Signals follow too.
  auto const holder = client.owner();
  client.take(Name("y"), holder, {.ttl = 30s});
  auto const waiter = other.owner();
  ASSERT_TRUE(wait_until([&] {
    try {
      return other.wait_for(Name("y"), waiter, {.ttl = 30s}) == 1;
    } catch (EngineError const&) {
      return false;
    }
  }));
  ASSERT_TRUE(client.release(Name("y"), holder));
  EXPECT_TRUE(other.hears(topic::offer, waiter.text()));

  // One that comes back thinks for a while that it is the master still.
  old.start();
  Client late(store);
  late.take(Name("z"), late.owner(), {.ttl = 30s});
  client.take(Name("w"), client.owner(), {.ttl = 30s});
  EXPECT_TRUE(holds(now, "z"));
  EXPECT_TRUE(holds(now, "w"));
  auto const used = old.command({"INFO", "commandstats"}).text;
  EXPECT_EQ(used.find("cmdstat_eval"), std::string::npos) << used;
}

TEST(RedisSentinel, AMasterThatWasDeposedIsLeft) {
  GroupStore store;
  Client client(store);
  client.take(Name("x"), client.owner(), {.ttl = 30s});
  auto& old = store.group.master();
  // It sleeps through its replacement; the connection to it stays.
  old.freeze();
  auto& now = store.group.await_master_other_than(old);
  old.thaw();
  ASSERT_EQ(old.command({"ROLE"}).items.at(0).text, "master");
  store.advance(10s);
  take_when_possible(client, Name("y"), client.owner());
  EXPECT_TRUE(holds(now, "y"));
  EXPECT_FALSE(holds(old, "y"));
}

TEST(RedisSentinel, AMajorityOfThemMustAgree) {
  GroupStore store;
  store.group.sentinel(0).process().kill();
  EXPECT_NO_THROW(static_cast<void>(store.open()));
  store.group.sentinel(1).process().freeze();
  auto const said = failure_of(store);
  EXPECT_THAT(said, HasSubstr("no majority of 3 Sentinels names a master of \"holt\""));
  EXPECT_THAT(said, HasSubstr("Connection refused"));
  EXPECT_THAT(said, HasSubstr("1 for 127.0.0.1:"));
  EXPECT_THAT(said, HasSubstr("1 silent"));
  store.group.sentinel(1).process().thaw();
  EXPECT_NO_THROW(static_cast<void>(store.open()));
}

TEST(RedisSentinel, TheyMustKnowTheService) {
  GroupStore store;
  auto url = store.url();
  url.replace(url.rfind('/'), std::string::npos, "/nothing");
  try {
    static_cast<void>(open_engine(store.env(), {url, "default"}));
    FAIL() << "it was opened";
  } catch (EngineError const& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not know this service"));
    EXPECT_THAT(error.hint(), HasSubstr("is the service's name right"));
  }
}

TEST(RedisSentinel, TheyAndTheServersMayBeBehindTls) {
  GroupStore store({.tls = RedisOptions::Tls::mutual});
  Client client(store);
  auto const before = client.take(Name("x"), client.owner(), {.ttl = 30s});
  EXPECT_TRUE(holds(store.group.master(), "x"));
  RedisSentinels::await_replicas(store.group.master(), 2);
  auto& now = store.group.fail_over_by_kill();
  EXPECT_GT(take_when_possible(client, Name("{x}"), client.owner()), before);
  EXPECT_TRUE(holds(now, "{x}"));

  TlsFiles const others;
  auto url = store.url();
  url.replace(url.find(store.group.tls().ca()), store.group.tls().ca().size(), others.ca());
  try {
    static_cast<void>(open_engine(store.env(), {url, "default"}));
    FAIL() << "it was opened";
  } catch (EngineError const& error) {
    EXPECT_THAT(error.what(), HasSubstr("signed by an authority that is not trusted"));
  }
}

TEST(RedisSentinel, TheyMayHaveAPasswordOfTheirOwn) {
  GroupStore store({}, "sesame");
  EXPECT_THAT(failure_of(store), HasSubstr("NOAUTH"));
  TemporaryFolder const folder;
  std::ofstream(folder.file("wrong")) << "barley\n";
  store.options = "?sentinel_password_file=" + folder.file("wrong");
  auto const said = failure_of(store);
  EXPECT_THAT(said, HasSubstr("WRONGPASS"));
  EXPECT_THAT(said, Not(HasSubstr("barley")));
  std::ofstream(folder.file("right")) << "sesame\n";
  auto const file = "sentinel_password_file=" + folder.file("right");
  for (auto const& options : {"?" + file, "?sentinel_user=default&" + file}) {
    store.options = options;
    Client client(store);
    client.take(Name(options), client.owner(), {.ttl = 30s});
  }
}

}  // namespace
}  // namespace holt::test
