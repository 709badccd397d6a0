// SPDX-License-Identifier: Apache-2.0
// RecordStore: versioned values, compare-and-set, expiry, listing, counters.

#include "contract/engine_test.hpp"

#include <holt/error.hpp>

#include <set>
#include <thread>

namespace holt::test {
namespace {

class RecordTest : public EngineTest {
 protected:
  RecordStore& records() { return client_.engine().records(); }

  std::expected<std::uint64_t, Conflict> put(std::string const& key, std::string const& value,
                                             std::optional<std::uint64_t> expected = {},
                                             Nanos ttl = {}) {
    RecordWrite write(start_ + key, value);
    write.expected = expected;
    write.ttl = ttl;
    return run(records().put(std::move(write), client_.deadline()));
  }
  std::optional<Record> get(std::string const& key) {
    auto found = run(records().get(start_ + key, client_.deadline()));
    if (found) found->key.erase(0, start_.size());
    return found;
  }
  std::expected<bool, Conflict> erase(std::string const& key,
                                      std::optional<std::uint64_t> expected = {}) {
    return run(records().erase(start_ + key, expected, client_.deadline()));
  }
  RecordPage list(std::string const& prefix, std::string const& cursor = {},
                  std::uint32_t limit = 100) {
    auto page = run(records().list(start_ + prefix, cursor, limit, client_.deadline()));
    for (auto& record : page.records) record.key.erase(0, start_.size());
    return page;
  }
  std::int64_t add(std::string const& counter, std::int64_t step) {
    return run(records().add(counter, step, client_.deadline()));
  }

  std::string const start_ = store_->records_start();  ///< of keys, which tests do not write
};

class RecordValues : public RecordTest {};
HOLT_ON_EVERY_STORE(RecordValues);

TEST_P(RecordValues, WhatIsPutIsGot) {
  auto const version = put("k", "value");
  ASSERT_TRUE(version);
  auto const found = get("k");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key, "k");
  EXPECT_EQ(found->value, "value");
  EXPECT_EQ(found->version, *version);
}

TEST_P(RecordValues, WhatIsNotThereIsNothing) { EXPECT_FALSE(get("k")); }

TEST_P(RecordValues, AnyBytesAreKept) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  put("k", bytes);
  EXPECT_EQ(get("k")->value, bytes);
  put("k", "");
  EXPECT_EQ(get("k")->value, "");
}

TEST_P(RecordValues, HoldsUpTo64KiB) {
  std::string const value(RecordStore::max_value_bytes, 'v');
  ASSERT_TRUE(put("k", value));
  EXPECT_EQ(get("k")->value, value);
  EXPECT_THROW(put("k", value + "v"), InvalidArgument);
  EXPECT_EQ(get("k")->value, value);
}

TEST_P(RecordValues, KeysHave1To512Bytes) {
  EXPECT_THROW(put("", "v"), InvalidArgument);
  EXPECT_TRUE(put(std::string(512, 'k'), "v"));
  EXPECT_THROW(put(std::string(513, 'k'), "v"), InvalidArgument);
  EXPECT_THROW(get(""), InvalidArgument);
  EXPECT_THROW(erase(""), InvalidArgument);
  EXPECT_THROW(add("", 1), InvalidArgument);
}

TEST_P(RecordValues, AnotherClientSeesIt) {
  put("k", "value");
  Client other(*store_);
  auto const found = run(other.engine().records().get(start_ + "k", other.deadline()));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value, "value");
}

class RecordVersions : public RecordTest {};
HOLT_ON_EVERY_STORE(RecordVersions);

TEST_P(RecordVersions, GrowWithEveryWrite) {
  auto const first = put("k", "1");
  auto const second = put("k", "1");
  EXPECT_GT(*second, *first);
}

TEST_P(RecordVersions, NeverRepeatAfterAnErase) {
  auto const first = put("k", "1");
  EXPECT_TRUE(erase("k"));
  auto const second = put("k", "2");
  EXPECT_GT(*second, *first);
}

TEST_P(RecordVersions, ZeroMeansOnlyIfThereIsNone) {
  auto const first = put("k", "1", 0);
  ASSERT_TRUE(first);
  auto const second = put("k", "2", 0);
  ASSERT_FALSE(second);
  ASSERT_TRUE(second.error().current);
  EXPECT_EQ(second.error().current->value, "1");
  EXPECT_EQ(second.error().current->version, *first);
  EXPECT_EQ(get("k")->value, "1");
}

TEST_P(RecordVersions, AVersionMeansOnlyThatOne) {
  auto const first = put("k", "1");
  auto const second = put("k", "2", *first);
  ASSERT_TRUE(second);
  auto const stale = put("k", "3", *first);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().current->version, *second);
  EXPECT_EQ(get("k")->value, "2");
}

TEST_P(RecordVersions, AVersionOfWhatIsGoneConflictsWithNothing) {
  auto const first = put("k", "1");
  EXPECT_TRUE(erase("k"));
  auto const stale = put("k", "2", *first);
  ASSERT_FALSE(stale);
  EXPECT_FALSE(stale.error().current);
  EXPECT_FALSE(get("k"));
}

TEST_P(RecordVersions, OfManyWritersWithTheSameExpectationOneWins) {
  auto const version = put("k", "start");
  std::atomic<int> winners{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        if (put("k", "mine", *version)) ++winners;
      });
    }
  }
  EXPECT_EQ(winners, 1);
}

class RecordErase : public RecordTest {};
HOLT_ON_EVERY_STORE(RecordErase);

TEST_P(RecordErase, AnswersWhetherOneWasThere) {
  put("k", "v");
  EXPECT_EQ(erase("k").value(), true);
  EXPECT_EQ(erase("k").value(), false);
  EXPECT_FALSE(get("k"));
}

TEST_P(RecordErase, ComparesTheVersion) {
  auto const version = put("k", "v");
  auto const other = erase("k", *version + 1);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().current->version, *version);
  EXPECT_TRUE(get("k"));
  EXPECT_EQ(erase("k", *version).value(), true);
}

TEST_P(RecordErase, OfAnEndedRecordFindsNone) {
  put("k", "v", {}, 500ms);
  advance(501ms);
  EXPECT_EQ(erase("k").value(), false);
}

class RecordExpiry : public RecordTest {};
HOLT_ON_EVERY_STORE(RecordExpiry);

TEST_P(RecordExpiry, ARecordEndsAfterItsTtl) {
  put("k", "v", {}, 500ms);
  EXPECT_TRUE(get("k"));
  advance(501ms);
  EXPECT_FALSE(get("k"));
  EXPECT_TRUE(list("").records.empty());
}

TEST_P(RecordExpiry, WithoutTtlItStays) {
  put("k", "v");
  advance(1s);
  EXPECT_TRUE(get("k"));
}

TEST_P(RecordExpiry, AnEndedRecordIsNoneForAnExpectation) {
  auto const first = put("k", "v", {}, 500ms);
  advance(501ms);
  EXPECT_FALSE(put("k", "w", *first));
  auto const second = put("k", "w", 0);
  ASSERT_TRUE(second);
  EXPECT_GT(*second, *first);
}

TEST_P(RecordExpiry, AWriteSetsTheTtlAnew) {
  put("k", "v", {}, 500ms);
  put("k", "w");
  advance(501ms);
  EXPECT_EQ(get("k")->value, "w");
}

class RecordListing : public RecordTest {};
HOLT_ON_EVERY_STORE(RecordListing);

TEST_P(RecordListing, IsInByteOrderWithThePrefix) {
  for (auto const* key : {"b/2", "b/10", "a", "c", "B"}) put(key, key);
  std::vector<std::string> keys;
  for (auto const& record : list("").records) keys.push_back(record.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"B", "a", "b/10", "b/2", "c"}));
  ASSERT_EQ(list("b/").records.size(), 2U);
  EXPECT_EQ(list("b/").records[0].value, "b/10");
}

TEST_P(RecordListing, PagesJoinWithoutGapOrDouble) {
  for (int i = 10; i < 30; ++i) put("k" + std::to_string(i), "v");
  put("l", "v");
  std::set<std::string> keys;
  std::string cursor;
  int pages = 0;
  do {
    auto const page = list("k", cursor, 7);
    for (auto const& record : page.records) EXPECT_TRUE(keys.insert(record.key).second);
    cursor = page.next;
  } while (!cursor.empty() && ++pages < 10);
  EXPECT_EQ(keys.size(), 20U);
}

TEST_P(RecordListing, RefusesAPageOfNothingOrTooMuch) {
  EXPECT_THROW(list("", "", 0), InvalidArgument);
  EXPECT_THROW(list("", "", 1001), InvalidArgument);
}

class RecordCounters : public RecordTest {};
HOLT_ON_EVERY_STORE(RecordCounters);

TEST_P(RecordCounters, StartAtZeroAndAnswerTheNewValue) {
  EXPECT_EQ(add("c", 5), 5);
  EXPECT_EQ(add("c", -7), -2);
  EXPECT_EQ(add("c", 0), -2);
}

TEST_P(RecordCounters, HaveTheirOwnKeySpace) {
  put("k", "v");
  EXPECT_EQ(add("k", 1), 1);
  EXPECT_EQ(get("k")->value, "v");
  EXPECT_EQ(list("").records.size(), 1U);
}

TEST_P(RecordCounters, ConcurrentAddersEachGetTheirOwn) {
  std::mutex mutex;
  std::set<std::int64_t> values;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 25; ++n) {
          auto const value = add("c", 1);
          std::scoped_lock const lock(mutex);
          EXPECT_TRUE(values.insert(value).second);
        }
      });
    }
  }
  EXPECT_EQ(values.size(), 200U);
  EXPECT_EQ(add("c", 0), 200);
}

TEST_P(RecordCounters, DoNotWrapAround) {
  auto const top = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(add("c", top), top);
  try {
    add("c", 1);
    FAIL() << "it wrapped around";
  } catch (EngineError const& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.outcome(), Outcome::not_applied);
  }
  EXPECT_EQ(add("c", 0), top);
}

}  // namespace
}  // namespace holt::test
