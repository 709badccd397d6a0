// SPDX-License-Identifier: Apache-2.0
// What a server refuses, each by a server that really does: the error says what it is and whether
// it happened, and all is well again when the cause is gone.

#include "engines/redis/layout.hpp"
#include "redis/store_behind_proxy.hpp"

#include <filesystem>

namespace holt::test {
namespace {

struct Expected {
  ErrorCode code;
  Outcome outcome;
  bool retryable;
  char const* hint;  ///< a part of it
};

void expect_error(std::optional<EngineError> const& error, Expected const& expected) {
  ASSERT_TRUE(error) << "it was not refused";
  EXPECT_EQ(error->code(), expected.code) << error->what();
  EXPECT_EQ(error->outcome(), expected.outcome) << error->what();
  EXPECT_EQ(error->retryable(), expected.retryable) << error->what();
  EXPECT_NE(error->hint().find(expected.hint), std::string::npos)
      << error->what() << "\nTry: " << error->hint();
}

std::optional<EngineError> taking(RedisCaller& caller, std::string const& name = "x") {
  return error_of([&] { caller.take(name, caller.owner()); });
}

/// Connecting again is not tried more often than a pause allows.
bool works_again(RedisCaller& caller) {
  return wait_until([&] { return !error_of([&] { (void)caller.acquire("y", caller.owner()); }); },
                    5s);
}

TEST(RedisRefusal, OutOfMemory) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto const owner = caller.owner();
  caller.take("held", owner);
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  expect_error(taking(caller), {ErrorCode::rate_limited, Outcome::not_applied, true, "maxmemory"});
  EXPECT_FALSE(caller.find("x")) << "not applied";
  EXPECT_TRUE(caller.renew("held", owner)) << "a holder must be able to keep what it has";
  EXPECT_TRUE(caller.renew("held", owner, 60s)) << "also when it wants to keep it for longer";
  EXPECT_GT(caller.find("held")->expires_in, 50s);
  EXPECT_TRUE(caller.release("held", owner)) << "and to give it back";
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(works_again(caller));
}

TEST(RedisRefusal, OutOfMemoryWhileOthersWait) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto const holder = caller.owner();
  auto const waiter = caller.owner();
  caller.take("x", holder);
  ASSERT_FALSE(caller.stand_in_line("x", waiter));
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_TRUE(caller.release("x", holder));
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(caller.acquire("x", waiter));
}

TEST(RedisRefusal, BecameAReplica) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto const before = caller.take("x", caller.owner());
  server.command({"REPLICAOF", "127.0.0.1", "1"});
  Expected const expected{ErrorCode::service_unavailable, Outcome::not_applied, true, "master"};
  expect_error(taking(caller, "y"), expected);
  caller.set_patience(300ms);
  expect_error(taking(caller, "y"), expected);  // and on connecting
  caller.set_patience(5s);
  server.command({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(works_again(caller));
  EXPECT_GT(caller.take("{x}", caller.owner()), before) << "a name of the same shard";
}

/// And one that answers nothing until it has found its master.
TEST(RedisRefusal, BecameAReplicaWithoutItsMaster) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto const owner = caller.owner();
  caller.take("x", owner);
  server.command({"CONFIG", "SET", "replica-serve-stale-data", "no"});
  server.command({"REPLICAOF", "127.0.0.1", "1"});
  auto const error = error_of([&] { (void)caller.renew("x", owner); });
  expect_error(error, {ErrorCode::service_unavailable, Outcome::not_applied, true, "master"});
  EXPECT_TRUE(error->reason().starts_with("MASTERDOWN")) << error->reason();
  server.command({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(works_again(caller));
}

TEST(RedisRefusal, CannotSave) {
  RedisServer const server({.config = {"save 3600 1000000"}});
  RedisCaller caller(server.url());
  auto client = server.connect();
  std::filesystem::create_directory(server.folder() + "/dump.rdb");  // what it cannot replace
  client.done({"BGSAVE"});
  auto const status = [&] {
    return info_field(client.text({"INFO", "persistence"}), "rdb_last_bgsave_status");
  };
  ASSERT_TRUE(wait_until([&] { return status() == "err"; }));
  expect_error(taking(caller), {ErrorCode::service_unavailable, Outcome::not_applied, true, "log"});
  EXPECT_FALSE(caller.find("x")) << "reading goes on";
  std::filesystem::remove(server.folder() + "/dump.rdb");
  ASSERT_TRUE(wait_until([&] {
    (void)client.ask({"BGSAVE"});
    return status() == "ok";
  }));
  EXPECT_TRUE(works_again(caller));
}

TEST(RedisRefusal, TooFewReplicas) {
  RedisServer const server;
  RedisCaller caller(server.url());
  server.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
  expect_error(taking(caller), {ErrorCode::service_unavailable, Outcome::not_applied, true,
                                "min-replicas-to-write"});
  server.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
  EXPECT_TRUE(works_again(caller));
}

TEST(RedisRefusal, NoPasswordOrAWrongOne) {
  RedisServer const server({.password = "s3cret"});
  auto const opening = [&](std::string const& who) {
    return error_of([&] { RedisCaller("redis://" + who + server.address()); });
  };
  expect_error(opening(""), {ErrorCode::auth_failed, Outcome::not_applied, false, "password"});
  expect_error(opening(":wr0ng@"), {ErrorCode::auth_failed, Outcome::not_applied, false, "check"});
  expect_error(opening("nobody:s3cret@"),
               {ErrorCode::auth_failed, Outcome::not_applied, false, "check"});
  EXPECT_EQ(std::string(opening(":wr0ng@")->what()).find("wr0ng"), std::string::npos);
  EXPECT_FALSE(opening(":s3cret@"));
}

TEST(RedisRefusal, APasswordThatNobodyAskedFor) {
  RedisServer const server;
  auto const error = error_of([&] { RedisCaller("redis://:s3cret@" + server.address()); });
  expect_error(error, {ErrorCode::auth_failed, Outcome::not_applied, false, "leave it out"});
}

TEST(RedisRefusal, APasswordThatCameLater) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto client = server.connect();
  client.done({"CONFIG", "SET", "requirepass", "s3cret"});
  client.done({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  std::optional<EngineError> error;
  ASSERT_TRUE(wait_until([&] {
    error = taking(caller);
    return error && error->code() == ErrorCode::auth_failed;
  }));
  expect_error(error, {ErrorCode::auth_failed, Outcome::not_applied, false, "password"});
  client.done({"CONFIG", "SET", "requirepass", ""});
  EXPECT_TRUE(works_again(caller));
}

TEST(RedisRefusal, NoPermission) {
  RedisServer const server({.acl = {"user worker on >s3cret ~holt:* &* +@all -evalsha",
                                    "user stranger on >s3cret ~other:* &* +@all"}});
  Expected const expected{ErrorCode::auth_failed, Outcome::not_applied, false, "ACL"};
  RedisCaller worker("redis://worker:s3cret@" + server.address());
  expect_error(taking(worker), expected);
  server.command({"ACL", "SETUSER", "worker", "+evalsha"});
  EXPECT_TRUE(works_again(worker));
  RedisCaller stranger("redis://stranger:s3cret@" + server.address());
  expect_error(taking(stranger), expected);
}

TEST(RedisRefusal, NoPermissionInTheMiddleOfAScript) {
  RedisServer const server({.acl = {"user worker on >s3cret ~holt:* &* +@all -publish"}});
  RedisCaller caller("redis://worker:s3cret@" + server.address());
  auto const holder = caller.owner();
  auto const waiter = caller.owner();
  caller.take("x", holder);
  ASSERT_FALSE(caller.stand_in_line("x", waiter));
  expect_error(error_of([&] { (void)caller.release("x", holder); }),
               {ErrorCode::auth_failed, Outcome::unknown, false, "ACL"});
  server.command({"ACL", "SETUSER", "worker", "+publish"});
  EXPECT_TRUE(wait_until([&] { return caller.acquire("x", waiter).has_value(); }, 5s));
}

TEST(RedisRefusal, SomebodyElsesKeys) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto const key = redis::Keys("default").lease("x");
  server.command({"HSET", key, "a", "b"});
  Expected const expected{ErrorCode::internal, Outcome::unknown, false, "somebody else"};
  expect_error(taking(caller), expected);
  expect_error(error_of([&] { (void)caller.find("x"); }), expected);
  server.command({"DEL", key});
  EXPECT_TRUE(works_again(caller));
}

TEST(RedisRefusal, SomebodyElsesKeyCostsNobodyElseARenewal) {
  RedisServer const server;
  RedisCaller caller(server.url());
  redis::Keys const keys("default");
  auto const owner = caller.owner();
  std::vector<LeaseRenewal> renewals;
  for (auto const* const name : {"a", "hash", "b", "text", "c"}) {
    caller.take(name, owner);
    renewals.emplace_back(Name(name), owner, 60s);
  }
  server.command({"DEL", keys.lease("hash")});
  server.command({"HSET", keys.lease("hash"), "a", "b"});
  server.command({"SET", keys.lease("text"), owner.text() + " x"});
  auto const answers = run(caller.engine().leases().renew(renewals, caller.deadline()));
  ASSERT_EQ(answers.size(), 5U);
  for (std::size_t const i : {0U, 2U, 4U}) EXPECT_TRUE(answers[i]) << i;
  for (std::size_t const i : {1U, 3U}) {
    ASSERT_FALSE(answers[i]) << i;
    EXPECT_EQ(answers[i].error().reason, LossReason::taken);
  }
  for (auto const* const name : {"a", "b", "c"}) EXPECT_GT(caller.find(name)->expires_in, 50s);
}

TEST(RedisRefusal, SomebodyElsesTexts) {
  RedisServer const server;
  RedisCaller caller(server.url());
  redis::Keys const keys("default");
  auto const owner = caller.owner();
  Expected const expected{ErrorCode::internal, Outcome::unknown, false, "somebody else"};
  for (std::string const& text : {std::string(), std::string("hello"), owner.text(),
                                  owner.text() + " x", owner.text() + " 1 0 100 0 5 0 0"}) {
    SCOPED_TRACE(text);
    server.command({"SET", keys.lease("x"), text, "PX", "60000"});
    auto const unless_busy = [&](auto&& call) { expect_error(error_of(call), expected); };
    unless_busy([&] { (void)caller.acquire("x", owner); });
    unless_busy([&] { (void)caller.find("x"); });
    unless_busy([&] { (void)caller.break_lease("x", "stop"); });
    for (auto const& call : {std::function<void()>([&] { (void)caller.renew("x", owner); }),
                             std::function<void()>([&] { (void)caller.release("x", owner); })}) {
      auto const error = error_of(call);  // not its own: that is an answer, too
      if (error) expect_error(error, expected);
    }
  }
  server.command({"SET", keys.record("x"), "no version"});
  expect_error(error_of([&] { (void)run(caller.engine().records().get("x", caller.deadline())); }),
               expected);
}

TEST(RedisRefusal, BusyWithSomebodyElsesScript) {
  RedisServer const server({.config = {"busy-reply-threshold 20"}});
  RedisCaller caller(server.url());
  caller.take("x", caller.owner());
  auto client = server.connect();
  client.send({"EVAL", "while true do end", "0"});
  std::optional<EngineError> error;
  ASSERT_TRUE(wait_until([&] { return (error = taking(caller, "y")).has_value(); }));
  expect_error(error, {ErrorCode::service_unavailable, Outcome::not_applied, true, "SCRIPT KILL"});
  (void)server.connect().ask({"SCRIPT", "KILL"});
  EXPECT_TRUE(works_again(caller));
}

TEST(RedisRefusal, ForgottenScriptsAreNotNoticed) {
  RedisServer const server;
  RedisCaller caller(server.url());
  auto const owner = caller.owner();
  auto const before = caller.take("x", owner);
  server.command({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(caller.renew("x", owner));
  server.command({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(caller.release("x", owner));
  server.command({"SCRIPT", "FLUSH"});
  EXPECT_GT(caller.take("x", owner), before);
}

TEST(RedisRefusal, StillLoading) {
  RedisServer const server({.config = {"enable-debug-command yes", "save 3600 1000000"}});
  RedisCaller caller(server.url());
  auto client = server.connect();
  client.done({"DEBUG", "POPULATE", "400", "filler", "100"});
  client.done({"CONFIG", "SET", "key-load-delay", "5000"});
  client.done({"CONFIG", "SET", "loading-process-events-interval-bytes", "1024"});
  client.send({"DEBUG", "RELOAD"});
  std::optional<EngineError> error;
  ASSERT_TRUE(wait_until([&] { return (error = taking(caller, "y")).has_value(); }, 2s));
  expect_error(error, {ErrorCode::service_unavailable, Outcome::not_applied, true, "reading"});
  EXPECT_FALSE(client.receive().is_error());
  EXPECT_TRUE(works_again(caller));
}

TEST(RedisRefusal, TooManyClients) {
  RedisServer const server;
  auto client = server.connect();
  client.done({"CONFIG", "SET", "maxclients", "1"});
  auto const opening = [&] { return error_of([&] { RedisCaller(server.url()); }); };
  for (int i = 0; i < 20; ++i) {
    expect_error(opening(), {ErrorCode::rate_limited, Outcome::not_applied, true, "maxclients"});
  }
  client.done({"CONFIG", "SET", "maxclients", "100"});
  EXPECT_FALSE(opening());
}

TEST(RedisRefusal, AClusterWithoutSlots) {
  RedisServer const server({.config = {"cluster-enabled yes"}});
  RedisCaller caller(server.url());
  expect_error(taking(caller),
               {ErrorCode::service_unavailable, Outcome::not_applied, true, "cluster"});
}

TEST(RedisRefusal, ADatabaseThatIsNotThere) {
  RedisServer const server;
  auto const error = error_of([&] { RedisCaller(server.url() + "/999"); });
  expect_error(error, {ErrorCode::invalid_argument, Outcome::not_applied, false, "smaller"});
}

TEST(RedisRefusal, ACommandThatWasTakenAway) {
  RedisServer const server({.config = {"rename-command EVALSHA \"\""}});
  RedisCaller caller(server.url());
  expect_error(taking(caller),
               {ErrorCode::invalid_argument, Outcome::not_applied, false, "disabled"});
}

TEST(RedisRefusal, AServerThatThrowsLeasesAway) {
  RedisServer const server({.eviction = "allkeys-lru"});
  auto const error = error_of([&] { RedisCaller(server.url()); });
  expect_error(error, {ErrorCode::invalid_argument, Outcome::not_applied, false, "noeviction"});
  EXPECT_NO_THROW(RedisCaller(server.url() + "?eviction=allow"));
}

}  // namespace
}  // namespace holt::test
