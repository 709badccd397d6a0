// SPDX-License-Identifier: Apache-2.0
// What everybody can read of the register of instances on Redis: holt:instances,
// holt:instance_counter and holt:NAME:lock; and what comes of it when somebody else writes there.

#include "contract/redis_cluster_store.hpp"
#include "contracts/instance_names.hpp"
#include "support/redis_instances_store.hpp"

#include <gmock/gmock.h>

namespace holt::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto versions_key = "{holt:instances}:versions";
constexpr auto note = R"({"instance":"web","run_id":"550e8400-e29b-41d4-a716-446655440000",)"
                      R"("workspace_path":"/srv/web","started_at":"2026-10-05T12:34:56Z",)"
                      R"("orchestrator_pid":4194304,"hostname":"node-1.eu","address":"10.0.0.1"})";

std::string lock_key(std::string const& name) { return "holt:" + name + ":lock"; }

std::string copy_with(Fence fence) {
  return R"({"pid":4194304,"start_time":"2026-10-05T12:34:56Z","hostname":"node-1.eu",)"
         R"("run_id":"550e8400-e29b-41d4-a716-446655440000","fence":")" +
         fence.padded() + R"("})";
}

/// Calls of one client, and the same by plain commands.
class RedisInstances : public testing::Test {
 protected:
  RecordStore& records() { return client_.engine().records(); }
  std::expected<std::uint64_t, Conflict> put(std::string const& key, std::string const& value,
                                             std::optional<std::uint64_t> expected = {},
                                             Nanos ttl = {}) {
    RecordWrite write(key, value);
    write.expected = expected;
    write.ttl = ttl;
    return run(records().put(std::move(write), client_.deadline()));
  }
  std::optional<Record> get(std::string const& key) {
    return run(records().get(key, client_.deadline()));
  }
  std::expected<bool, Conflict> erase(std::string const& key,
                                      std::optional<std::uint64_t> expected = {}) {
    return run(records().erase(key, expected, client_.deadline()));
  }
  std::vector<std::string> keys_in_pages(std::string const& prefix, std::uint32_t limit) {
    std::vector<std::string> keys;
    std::string cursor;
    do {
      auto const page = run(records().list(prefix, cursor, limit, client_.deadline()));
      EXPECT_LE(page.records.size(), limit);
      for (auto const& record : page.records) keys.push_back(record.key);
      cursor = page.next;
    } while (!cursor.empty() && keys.size() < 100);
    return keys;
  }
  bool exists(std::string const& key) { return redis_.number({"EXISTS", key}) == 1; }
  std::string copy(std::string const& name) { return redis_.text({"GET", lock_key(name)}); }
  std::int64_t copy_lives(std::string const& name) {
    return redis_.number({"PTTL", lock_key(name)});
  }
  /// The keys of leases and of what else the register has natively, counters aside.
  std::vector<std::string> native_leases() {
    std::vector<std::string> found;
    for (auto const& key : redis_.done({"KEYS", "holt:_instances:*:l:*"}).items) {
      found.push_back(key.text);
    }
    return found;
  }

  RedisInstancesTestStore store_;
  RedisClient redis_{store_.server().connect()};
  Client client_{store_};
  Owner us_ = client_.owner();
};

// Records.

TEST_F(RedisInstances, ARecordIsAFieldOfTheHashJustAsItIs) {
  std::string const value("{\"run_id\":\"x\"}\n\0\xff", 17);
  auto const version = put("instance/web", value);
  ASSERT_TRUE(version);
  EXPECT_EQ(redis_.text({"HGET", "holt:instances", "web"}), value);
  EXPECT_EQ(redis_.number({"HLEN", "holt:instances"}), 1);
  EXPECT_EQ(redis_.text({"HGET", versions_key, "/web"}), std::to_string(*version) + " 0");
  EXPECT_EQ(redis_.number({"PTTL", "holt:instances"}), -1) << "no end of the whole";
  EXPECT_THAT(redis_.done({"KEYS", "*:r:*"}).items, testing::IsEmpty()) << "and no other record";
}

TEST_F(RedisInstances, OtherRecordsAndCountersAreNative) {
  ASSERT_TRUE(put("ended/run", "why"));
  EXPECT_EQ(run(records().add("other", 3, client_.deadline())), 3);
  EXPECT_FALSE(exists("holt:instances"));
  EXPECT_EQ(redis_.done({"KEYS", "holt:_instances:{*}:r:ended/run"}).items.size(), 1U);
  EXPECT_EQ(redis_.done({"KEYS", "holt:_instances:{*}:n:other"}).items.size(), 1U);
}

TEST_F(RedisInstances, TheCounterIsAKeyThatOthersCanCountToo) {
  auto const draw = [&] { return run(records().add("instance_counter", 1, client_.deadline())); };
  EXPECT_EQ(draw(), 1);
  EXPECT_EQ(redis_.text({"GET", "holt:instance_counter"}), "1");
  EXPECT_EQ(redis_.number({"INCR", "holt:instance_counter"}), 2);
  EXPECT_EQ(draw(), 3);
}

TEST_F(RedisInstances, NothingOfAnErasedRecordStays) {
  auto const version = put("instance/web", "v", {}, 1h);
  EXPECT_FALSE(erase("instance/web", *version + 1));
  EXPECT_EQ(erase("instance/web", *version).value(), true);
  EXPECT_FALSE(exists("holt:instances"));
  EXPECT_EQ(redis_.number({"HEXISTS", versions_key, "/web"}), 0);
}

TEST_F(RedisInstances, WhatEndedIsRemovedWhenItIsMet) {
  ASSERT_TRUE(put("instance/a", "v", {}, 1s));
  ASSERT_TRUE(put("instance/b", "v", {}, 1h));
  store_.advance(1001ms);
  EXPECT_THAT(keys_in_pages("", 10), ElementsAre("instance/b"));
  EXPECT_EQ(redis_.number({"HLEN", "holt:instances"}), 1);
  EXPECT_EQ(redis_.number({"HEXISTS", versions_key, "/a"}), 0);
}

TEST_F(RedisInstances, AVersionNeverComesAgain) {
  auto const first = put("instance/web", "v");
  redis_.done({"FLUSHALL"});
  auto const flushed = put("instance/web", "v");
  EXPECT_GT(*flushed, *first);
  // As after a failover: a number that a lost server may have drawn is passed over.
  redis_.done({"HSET", versions_key, "v", "9007190000000000", "id", "another"});
  EXPECT_GT(put("instance/web", "v").value(), 9007190000000000U + 1000);
}

TEST_F(RedisInstances, AStrangersFieldIsShownAndInNobodysWay) {
  redis_.done({"HSET", "holt:instances", "web", "theirs", "api", "theirs", "old", "theirs"});
  EXPECT_EQ(get("instance/web")->value, "theirs");
  EXPECT_EQ(get("instance/web")->version, 0U);
  EXPECT_THAT(keys_in_pages("instance/", 2),
              ElementsAre("instance/api", "instance/old", "instance/web"));
  auto const mine = put("instance/web", "ours", 0);
  ASSERT_TRUE(mine);
  EXPECT_EQ(get("instance/web")->version, *mine);
  auto const stale = put("instance/api", "ours", 17);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().current->value, "theirs");
  EXPECT_EQ(erase("instance/api", 0).value(), true);
  EXPECT_EQ(erase("instance/old").value(), true);
  EXPECT_THAT(keys_in_pages("", 10), ElementsAre("instance/web"));
}

TEST_F(RedisInstances, WhatAStrangerDeletedIsGone) {
  auto const version = put("instance/web", "v");
  redis_.done({"HDEL", "holt:instances", "web"});
  EXPECT_FALSE(get("instance/web"));
  EXPECT_EQ(redis_.number({"HEXISTS", versions_key, "/web"}), 0);
  auto const stale = put("instance/web", "w", *version);
  ASSERT_FALSE(stale);
  EXPECT_FALSE(stale.error().current);
  EXPECT_GT(put("instance/web", "w", 0).value(), *version);
}

TEST_F(RedisInstances, AListingHasBothKindsInOneOrder) {
  for (auto const* key : {"instance/b", "ended/2", "instance/a", "z", "instance", "ended/1",
                          "instance0", "instance/B"}) {
    ASSERT_TRUE(put(key, "v"));
  }
  auto const all = ElementsAre("ended/1", "ended/2", "instance", "instance/B", "instance/a",
                               "instance/b", "instance0", "z");
  for (std::uint32_t const limit : {1, 2, 3, 7, 8, 9}) EXPECT_THAT(keys_in_pages("", limit), all);
  EXPECT_THAT(keys_in_pages("instance/", 2), ElementsAre("instance/B", "instance/a", "instance/b"));
  EXPECT_THAT(keys_in_pages("instance/a", 2), ElementsAre("instance/a"));
  EXPECT_THAT(keys_in_pages("inst", 2),
              ElementsAre("instance", "instance/B", "instance/a", "instance/b", "instance0"));
  EXPECT_THAT(keys_in_pages("ended/", 1), ElementsAre("ended/1", "ended/2"));
}

// The copy of a name's lease.

TEST_F(RedisInstances, AGrantCanBeReadAsALineOfJson) {
  auto const fence = client_.take("web", us_, {.ttl = 30s, .note = note});
  EXPECT_EQ(copy("web"), copy_with(fence));
  EXPECT_GT(copy_lives("web"), 20'000);
  EXPECT_LE(copy_lives("web"), 30'000);
}

TEST_F(RedisInstances, ANoteThatCannotBeReadGivesNulls) {
  auto const fence = client_.take("web", us_, {.note = "no JSON"});
  EXPECT_EQ(copy("web"),
            R"({"pid":null,"start_time":null,"hostname":null,"run_id":null,"fence":")" +
                fence.padded() + R"("})");
}

TEST_F(RedisInstances, OtherLeasesHaveNone) {
  LeaseRequest request({Name("{instance}/workspace/h/srv"), Name("{instance}/replica/web/1")}, us_,
                       30s);
  request.note = note;
  ASSERT_TRUE(run(client_.engine().leases().acquire(std::move(request), client_.deadline())));
  EXPECT_THAT(redis_.done({"KEYS", "holt:*:lock"}).items, testing::IsEmpty());
}

TEST_F(RedisInstances, ARenewalRenewsItAndBringsItBack) {
  auto const fence = client_.take("web", us_, {.ttl = 30s, .note = note});
  ASSERT_TRUE(client_.renew("web", us_, 90s));
  EXPECT_GT(copy_lives("web"), 60'000);
  ASSERT_TRUE(client_.renew("web", us_, 1s));
  EXPECT_GT(copy_lives("web"), 60'000) << "never back";
  redis_.done({"DEL", lock_key("web")});
  ASSERT_TRUE(client_.renew("web", us_, 30s));
  EXPECT_EQ(copy("web"), copy_with(fence));
}

TEST_F(RedisInstances, ItEndsWithTheLease) {
  client_.take("web", us_, {.ttl = 30s, .note = note});
  store_.advance(30'001ms);
  EXPECT_FALSE(exists(lock_key("web")));
  EXPECT_FALSE(client_.renew("web", us_, 30s));
  EXPECT_FALSE(exists(lock_key("web")));
}

TEST_F(RedisInstances, NothingOfItStaysAfterARelease) {
  client_.take("web", us_, {.note = note});
  ASSERT_TRUE(client_.release("web", us_));
  EXPECT_FALSE(exists(lock_key("web")));
  EXPECT_THAT(native_leases(), testing::IsEmpty());
}

TEST_F(RedisInstances, AnOfferHasNoneUntilItIsConfirmed) {
  client_.take("web", us_, {.note = note});
  auto const next = client_.owner();
  client_.wait_for("web", next, {.note = note});
  ASSERT_TRUE(client_.release("web", us_));
  EXPECT_FALSE(exists(lock_key("web")));
  auto const fence = client_.take("web", next, {.line = true, .note = note});
  EXPECT_EQ(copy("web"), copy_with(fence));
}

TEST_F(RedisInstances, WhoBreaksTheLeaseAtOnceTakesItAway) {
  client_.take("web", us_, {.note = note});
  Client other(store_);
  EXPECT_EQ(other.break_lease("web", "stop"), BreakResult::asked);
  EXPECT_TRUE(exists(lock_key("web"))) << "it is held until its holder lets go";
  EXPECT_EQ(other.break_lease("web", "stop", true), BreakResult::freed);
  EXPECT_FALSE(exists(lock_key("web")));
}

TEST_F(RedisInstances, WhoWasAskedToStopTakesItAway) {
  client_.take("web", us_, {.note = note});
  Client(store_).break_lease("web", "stop");
  EXPECT_FALSE(client_.renew("web", us_));
  EXPECT_TRUE(client_.release("web", us_));
  EXPECT_FALSE(exists(lock_key("web")));
}

TEST_F(RedisInstances, AStrangersLockMakesTheNameBusyAndNothingStays) {
  redis_.done({"SET", lock_key("web"), "2026-10-05\t12:34", "PX", "60000"});
  LeaseRequest request({Name("{instance}/name/web"), Name("{instance}/workspace/h/srv")}, us_, 30s);
  request.note = note;
  auto const answer =
      run(client_.engine().leases().acquire(std::move(request), client_.deadline()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().note, "2026-10-05?12:34");
  EXPECT_GT(answer.error().expires_in, 50s);
  EXPECT_LE(answer.error().expires_in, 60s);
  EXPECT_EQ(copy("web"), "2026-10-05\t12:34");
  EXPECT_THAT(native_leases(), testing::IsEmpty());
  redis_.done({"DEL", lock_key("web")});
  client_.take("web", us_, {.note = note});
}

TEST_F(RedisInstances, AStrangersLockMayBeAnything) {
  redis_.done({"SET", lock_key("endless"), std::string(300, 'x')});
  redis_.done({"SET", lock_key("json"), R"({"pid":1,"fence":7})"});
  redis_.done({"HSET", lock_key("hash"), "a", "b"});
  auto const endless = client_.acquire("endless", us_, {.ttl = 30s});
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().note, std::string(256, 'x'));
  EXPECT_EQ(endless.error().expires_in, 30s) << "then it is looked at again";
  EXPECT_FALSE(client_.acquire("json", us_));
  EXPECT_FALSE(client_.acquire("hash", us_));
  EXPECT_THAT(native_leases(), testing::IsEmpty());
}

TEST_F(RedisInstances, AStrangerWhoWritesOverItDoesNotEndTheLease) {
  auto const fence = client_.take("web", us_, {.ttl = 30s, .note = note});
  redis_.done({"SET", lock_key("web"), "theirs", "EX", "60"});
  EXPECT_TRUE(client_.renew("web", us_, 30s));
  EXPECT_EQ(client_.take("web", us_, {.ttl = 30s, .note = note}), fence) << "asking again";
  EXPECT_EQ(copy("web"), "theirs");
  EXPECT_TRUE(client_.release("web", us_));
  EXPECT_EQ(copy("web"), "theirs");
}

TEST_F(RedisInstances, WhoIsLateChangesNothing) {
  auto const fence = client_.take("web", us_, {.ttl = 30s, .note = note});
  auto const later = copy_with(Fence(fence.value() + 1));
  redis_.done({"SET", lock_key("web"), later, "PX", "5000"});
  EXPECT_TRUE(client_.renew("web", us_, 30s));
  EXPECT_EQ(copy("web"), later);
  EXPECT_LE(copy_lives("web"), 5000);
  EXPECT_TRUE(client_.release("web", us_));
  EXPECT_EQ(copy("web"), later);
}

TEST_F(RedisInstances, ACopyThatWasLeftBehindIsWrittenOver) {
  redis_.done({"SET", lock_key("web"), copy_with(Fence(7)), "PX", "60000"});
  auto const fence = client_.take("web", us_, {.ttl = 30s, .note = note});
  EXPECT_EQ(copy("web"), copy_with(fence));
  EXPECT_LE(copy_lives("web"), 30'000);
}

TEST_F(RedisInstances, WithoutTheRightToWriteItNothingIsGranted) {
  client_.take("other", us_, {.note = note});
  redis_.done({"ACL", "SETUSER", "holt", "resetkeys", "~holt:_instances:*", "~holt:other:*"});
  auto const said = refusal([&] { static_cast<void>(client_.acquire("web", us_)); });
  EXPECT_THAT(said, HasSubstr("docs/engines.md has the ACL line"));
  redis_.done({"ACL", "SETUSER", "holt", "resetkeys", "~holt:_instances:*"});
  EXPECT_TRUE(client_.renew("other", us_, 30s)) << "a copy that fails fails no renewal";
  EXPECT_TRUE(client_.release("other", us_));
  EXPECT_THAT(native_leases(), testing::IsEmpty());
}

TEST(RedisInstancesLayout, AFleetsLayoutHasNoRegister) {
  RedisTestStore store;
  use_built_modules();
  for (auto const* layout : {"syncguard", "sovereign", "poll"}) {
    auto const url = store.url() + "?layout=" + layout;
    EXPECT_THAT(refusal([&] {
                  static_cast<void>(open_engine(store.env(), {url, std::string(register_scope)}));
                }),
                HasSubstr(std::string("named instances are not possible with layout=") + layout));
  }
}

// On a cluster the keys are in several slots.

class RedisClusterInstances : public RedisClusterStore {
 protected:
  static std::string get(std::string const& key) {
    return cluster().master_for(key).command({"GET", key}).text;
  }
};

TEST_F(RedisClusterInstances, TheKeysAreFoundWhereverTheyAre) {
  EXPECT_EQ(cluster().slot_of("holt:instances"), cluster().slot_of(versions_key));
  InstancesOf<TestStoreAt> store(cluster().url());
  Client client(store);
  auto& records = client.engine().records();
  for (auto const* name : {"a", "b", "c", "d", "e", "f"}) {
    auto const us = client.owner();
    auto const fence = client.take(name, us, {.ttl = 30s, .note = note});
    EXPECT_EQ(get(lock_key(name)), copy_with(fence));
    EXPECT_TRUE(client.renew(name, us, 60s));
    EXPECT_TRUE(client.release(name, us));
    EXPECT_EQ(get(lock_key(name)), "");
  }
  EXPECT_EQ(run(records.add("instance_counter", 1, client.deadline())), 1);
  EXPECT_EQ(get("holt:instance_counter"), "1");
  ASSERT_TRUE(run(records.put(RecordWrite("instance/a", "v"), client.deadline())));
  auto& node = cluster().master_for("holt:instances");
  EXPECT_EQ(node.command({"HGET", "holt:instances", "a"}).text, "v");
}

TEST_F(RedisClusterInstances, TheKeysAreFollowedWhenTheirSlotMoves) {
  InstancesOf<TestStoreAt> store(cluster().url());
  Client client(store);
  auto& records = client.engine().records();
  auto const first = run(records.put(RecordWrite("instance/a", "v"), client.deadline()));
  auto const slot = cluster().slot_of("holt:instances");
  cluster().move_slot(slot, other_than(cluster().master_of(slot)));
  EXPECT_EQ(run(records.get("instance/a", client.deadline()))->value, "v");
  auto const second = run(records.put(RecordWrite("instance/a", "w"), client.deadline()));
  EXPECT_GT(*second, *first);

  auto const us = client.owner();
  auto const fence = client.take("web", us, {.ttl = 30s, .note = note});
  auto const copys = cluster().slot_of(lock_key("web"));
  auto& to = other_than(cluster().master_of(copys));
  cluster().begin_move(copys, to);
  cluster().move_keys({lock_key("web")}, to);
  EXPECT_TRUE(client.renew("web", us, 60s));
  cluster().move_rest(copys, to);
  EXPECT_EQ(get(lock_key("web")), copy_with(fence));
  EXPECT_GT(cluster().master_of(copys).command({"PTTL", lock_key("web")}).integer, 40'000);
  EXPECT_TRUE(client.release("web", us));
  EXPECT_EQ(get(lock_key("web")), "");
}

}  // namespace
}  // namespace holt::test
