// SPDX-License-Identifier: Apache-2.0
// The layout syncguard: keys and hashes byte by byte (vectors of SyncGuard 2.5.2), options.

#include "engines/redis/syncguard_layout.hpp"
#include "engines/redis/syncguard_options.hpp"

#include <holt/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace holt::redis {
namespace {

using testing::HasSubstr;

std::string many(std::size_t count, char c) { return std::string(count, c); }

SyncguardKeys keys(std::string prefix, std::string_view layout = "syncguard") {
  return {*find_syncguard_layout(layout), std::move(prefix)};
}

TEST(SyncguardKey, IsThePrefixAndTheName) {
  EXPECT_EQ(syncguard_key("syncguard", "resource:123", 1000, 26), "syncguard:resource:123");
  EXPECT_EQ(syncguard_key("", "x", 1000, 26), "x");
}

TEST(SyncguardKey, LosesAllColonsBehindThePrefix) {
  EXPECT_EQ(syncguard_key("app::", "x", 1000, 26), "app:x");
  EXPECT_EQ(syncguard_key(":", "x", 1000, 26), "x");
}

TEST(SyncguardKey, IsAHashWhereItWouldBeTooLong) {
  EXPECT_EQ(syncguard_key("syncguard", many(964, 'k'), 1000, 26), "syncguard:" + many(964, 'k'));
  EXPECT_EQ(syncguard_key("syncguard", many(965, 'k'), 1000, 26),
            "syncguard:6pQ6JUf0ztI3fu4wf7PINQ");
  EXPECT_EQ(syncguard_key("", many(1700, 'k'), 1700, 0), many(1700, 'k'));
  EXPECT_EQ(syncguard_key("", many(1701, 'k'), 1700, 0), "bkmeOPyFcygY1DgAJor3Nw");
}

TEST(SyncguardKey, CountsBytesNotCharacters) {
  std::string name;
  for (int i = 0; i < 483; ++i) name += "ä";  // 966 bytes
  EXPECT_EQ(syncguard_key("syncguard", name, 1000, 26).size(), 32U);
}

TEST(SyncguardKey, IsRefusedWhenNothingFits) {
  EXPECT_THROW(static_cast<void>(syncguard_key("p", "", 1000, 26)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(syncguard_key(many(974, 'p'), "x", 1000, 26)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(syncguard_key(many(960, 'p'), many(30, 'x'), 1000, 26)),
               InvalidArgument);
  EXPECT_THROW(keys(many(952, 'p')), InvalidArgument);
  EXPECT_NO_THROW(keys(many(951, 'p')));
}

TEST(SyncguardKeysTest, OfLockIndexAndCounter) {
  auto const fleet = keys("syncguard");
  EXPECT_EQ(fleet.lock("resource:123"), "syncguard:resource:123");
  EXPECT_EQ(fleet.index("AAECAwQFBgcICQoLDA0ODw"), "syncguard:id:AAECAwQFBgcICQoLDA0ODw");
  EXPECT_EQ(fleet.counter("resource:123"), "syncguard:fence:syncguard:resource:123");
  EXPECT_EQ(fleet.indexed("resource:123"), "syncguard:resource:123");
}

TEST(SyncguardKeysTest, WithColonsBehindThePrefixAndWithoutOne) {
  auto const colons = keys("app::");
  EXPECT_EQ(colons.lock("x"), "app:x");
  EXPECT_EQ(colons.index("I"), "app:id:I");
  EXPECT_EQ(colons.counter("x"), "app:fence:app:x");
  auto const none = keys("");
  EXPECT_EQ(none.lock("x"), "x");
  EXPECT_EQ(none.index("I"), "id:I");
  EXPECT_EQ(none.counter("x"), "fence:x");
}

TEST(SyncguardKeysTest, OfALongPrefix) {
  auto const longer = keys(many(500, 'p'));
  auto const name = many(512, 'k');
  EXPECT_EQ(longer.lock(name), many(500, 'p') + ":4IHsXAHxkLfKOJql6ueqVQ");
  EXPECT_EQ(longer.counter(name), many(500, 'p') + ":r7uSk1CCDeZHcsBGXY_FSw");
  EXPECT_EQ(longer.indexed(name), longer.lock(name));
  EXPECT_FALSE(longer.never_cut());
  auto const shorter = keys(many(460, 'q'));
  EXPECT_EQ(shorter.lock(name), many(460, 'q') + ":" + name);
  EXPECT_EQ(shorter.counter(name), many(460, 'q') + ":AXn9tSIP-jPL30qRanEHQQ");
  EXPECT_TRUE(shorter.never_cut());
}

TEST(SyncguardKeysTest, OfTheFirstRevision) {
  auto const fleet = keys("syncguard", "syncguard-19");
  EXPECT_EQ(fleet.lock("resource:123"), "syncguard:resource:123");
  EXPECT_EQ(fleet.index("I"), "syncguard:id:I");
  EXPECT_EQ(fleet.counter("resource:123"), "syncguard:fence:resource:123");
  EXPECT_EQ(fleet.indexed("resource:123"), "resource:123");
  EXPECT_EQ(keys("app:", "syncguard-19").lock("x"), "app:x");
  EXPECT_EQ(keys("app::", "syncguard-19").lock("x"), "app::x");
  auto const longer = keys(many(500, 'p'), "syncguard-19");
  EXPECT_EQ(longer.lock(many(499, 'k')), many(500, 'p') + ":" + many(499, 'k'));
  EXPECT_EQ(longer.lock(many(512, 'a')), many(500, 'p') + ":9b502000d9518000d5380000");
  EXPECT_EQ(longer.counter(many(512, 'k')),
            many(500, 'p') + ":" + syncguard_hash("fence:" + many(512, 'k')));
}

TEST(SyncguardKeysTest, RefuseThePrefixesThatSyncGuardRefuses) {
  for (auto const* prefix : {"fence", "app:fence", "fence:x", "my-fence"}) {
    EXPECT_THROW(keys(prefix), InvalidArgument) << prefix;
  }
  EXPECT_NO_THROW(keys("fences"));
}

TEST(SyncguardKeysTest, RefuseNamesThatAreKeysOfOthers) {
  auto const fleet = keys("syncguard");
  for (auto const* name : {"fence:syncguard:foo", "fence:foo", "id:AAECAwQFBgcICQoLDA0ODw"}) {
    EXPECT_THROW(fleet.check(Name(name)), InvalidArgument) << name;
  }
  for (auto const* name : {"fence", "fences:1", "id", "idle", "x:id:1"}) {
    EXPECT_NO_THROW(fleet.check(Name(name))) << name;
  }
}

TEST(SyncguardKeysTest, AreTakenApartForListings) {
  auto const fleet = keys("a*b");
  EXPECT_EQ(fleet.pattern("x[1]?"), "a\\*b:x\\[1\\]\\?*");
  EXPECT_EQ(fleet.name_in("a*b:x:y"), "x:y");
  for (auto const* key : {"a*b:", "other:x", "a*b:id:1", "a*b:fence:a*b:x"}) {
    EXPECT_FALSE(fleet.name_in(key)) << key;
  }
  EXPECT_EQ(keys(many(500, 'p')).pattern("x"), many(500, 'p') + ":*") << "names may be cut short";
}

TEST(SyncguardHash, IsOfUtf16) {
  EXPECT_EQ(syncguard_hash(""), "000000000000000000000000");
  EXPECT_EQ(syncguard_hash("t"), "000000740000015c0000032c");
  EXPECT_EQ(syncguard_hash("resource:123"), "e90a28c676a29a3291e2874a");
  EXPECT_EQ(syncguard_hash(Name("caf\u00e9").text()), "002e7a21248b3503a22cdb87");
  EXPECT_EQ(syncguard_hash(Name("cafe\u0301").text()), "002e7a21248b3503a22cdb87");
  EXPECT_EQ(syncguard_hash(many(512, 'a')), "9b502000d9518000d5380000");
  EXPECT_EQ(syncguard_hash("\U0001F600"), "001b0d6301446cc92f4d8055") << "two units, d83d and de00";
}

TEST(SyncguardOptionsTest, AreTakenOutOfTheAddress) {
  std::string url = "redis://h:1/2?timeout=5&layout=syncguard&prefix=my%3Aapp&eviction=allow";
  auto const options = take_syncguard_options(url);
  ASSERT_TRUE(options);
  EXPECT_EQ(url, "redis://h:1/2?timeout=5&eviction=allow");
  EXPECT_EQ(options->layout->name, "syncguard");
  EXPECT_EQ(options->prefix, "my:app");
  EXPECT_FALSE(options->cleanup);
  EXPECT_EQ(with_layout("redis://h:1/2", *options),
            "redis://h:1/2?layout=syncguard&prefix=my%3Aapp");
  EXPECT_THAT(with_layout("redis+unix:///s?db=1", *options), HasSubstr("?db=1&layout=syncguard&"));
}

TEST(SyncguardOptionsTest, HaveDefaults) {
  std::string url = "redis://h?layout=syncguard-19&cleanup_in_is_locked=true";
  auto const options = take_syncguard_options(url);
  ASSERT_TRUE(options);
  EXPECT_EQ(url, "redis://h");
  EXPECT_EQ(options->layout->fences.digits, 19U);
  EXPECT_EQ(options->prefix, "syncguard");
  EXPECT_TRUE(options->cleanup);
}

TEST(SyncguardOptionsTest, WithoutThemTheAddressStays) {
  for (std::string const text : {"redis://h", "redis://h?timeout=5", "redis://h?x=prefix=1#f",
                                 "redis://u:a?layout=secret@h"}) {
    auto url = text;
    EXPECT_FALSE(take_syncguard_options(url));
    EXPECT_EQ(url, text);
  }
}

TEST(SyncguardOptionsTest, RefuseWhatCannotBe) {
  for (std::string url :
       {"redis://h?prefix=x", "redis://h?layout=monarch", "redis://h?layout=", "redis://h?layout",
        "redis://h?layout=syncguard&layout=syncguard", "redis://h?layout=syncguard&prefix=%zz",
        "redis://h?layout=syncguard&cleanup_in_is_locked=yes"}) {
    EXPECT_THROW(static_cast<void>(take_syncguard_options(url)), InvalidArgument) << url;
  }
}

}  // namespace
}  // namespace holt::redis
