// SPDX-License-Identifier: Apache-2.0
// LeaseStore::find and list: what there is, for people. They write nothing.

#include "contract/engine_test.hpp"

#include <holt/error.hpp>

namespace holt::test {
namespace {

class LeaseListing : public EngineTest {
 protected:
  std::vector<std::string> names(LeasePage const& page) {
    std::vector<std::string> found;
    for (auto const& lease : page.leases) found.push_back(lease.name.text());
    return found;
  }
};
HOLT_ON_EVERY_STORE(LeaseListing);

using Names = std::vector<std::string>;

TEST_P(LeaseListing, FindTellsAllThereIs) {
  auto const before = store_->env().wall() - 1s;
  auto const owner = client_.owner();
  auto const fence = client_.take("a", owner, {.ttl = 10s, .note = "who"});
  auto const found = client_.find("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, Name("a"));
  EXPECT_EQ(found->owner, owner);
  EXPECT_EQ(found->fence, fence);
  EXPECT_FALSE(found->offered);
  EXPECT_GT(found->acquired_at, before);
  EXPECT_LT(found->acquired_at, store_->env().wall() + 1s);
  EXPECT_EQ(found->ttl, 10s);
  EXPECT_GT(found->expires_in, 5s);
  EXPECT_LE(found->expires_in, 10s);
  EXPECT_EQ(found->waiting, 0U);
  EXPECT_EQ(found->note, "who");
  EXPECT_EQ(found->broken, "");
}

TEST_P(LeaseListing, FindOfAFreeNameIsNothing) { EXPECT_FALSE(client_.find("a")); }

TEST_P(LeaseListing, ListsInByteOrderOfTheNames) {
  for (auto const* name : {"b", "ä", "B", "a/2", "a/10", "a"}) client_.take(name, client_.owner());
  EXPECT_EQ(names(client_.list()), (Names{"B", "a", "a/10", "a/2", "b", "ä"}));
}

TEST_P(LeaseListing, ListsWhatStartsWithThePrefix) {
  for (auto const* name : {"a", "db/1", "db/2", "dba", "e"}) client_.take(name, client_.owner());
  EXPECT_EQ(names(client_.list("db/")), (Names{"db/1", "db/2"}));
  EXPECT_EQ(names(client_.list("db")), (Names{"db/1", "db/2", "dba"}));
  EXPECT_TRUE(client_.list("x").leases.empty());
}

TEST_P(LeaseListing, APrefixIsNoPattern) {
  for (auto const* name : {"a%", "ab", "a_", "a*"}) client_.take(name, client_.owner());
  EXPECT_EQ(names(client_.list("a%")), (Names{"a%"}));
  EXPECT_EQ(names(client_.list("a_")), (Names{"a_"}));
  EXPECT_EQ(names(client_.list("a*")), (Names{"a*"}));
}

TEST_P(LeaseListing, PagesJoinWithoutGapOrDouble) {
  Names expected;
  for (int i = 10; i < 35; ++i) {
    expected.push_back("n" + std::to_string(i));
    client_.take(expected.back(), client_.owner(), {.ttl = 60s});
  }
  client_.take("m", client_.owner());
  client_.take("o", client_.owner());
  Names found;
  std::string cursor;
  int pages = 0;
  do {
    auto const page = client_.list("n", cursor, 10);
    EXPECT_LE(page.leases.size(), 10U);
    for (auto const& name : names(page)) found.push_back(name);
    cursor = page.next;
    ++pages;
  } while (!cursor.empty() && pages < 10);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(found, expected);
}

TEST_P(LeaseListing, AFullLastPageHasNoNext) {
  for (auto const* name : {"a", "b", "c"}) client_.take(name, client_.owner());
  EXPECT_EQ(client_.list("", "", 3).next, "");
  EXPECT_EQ(client_.list("", "", 2).next, "b");
  EXPECT_EQ(names(client_.list("", "b", 2)), (Names{"c"}));
}

TEST_P(LeaseListing, ACursorOfANameThatIsGoneIsFine) {
  for (auto const* name : {"a", "c"}) client_.take(name, client_.owner());
  EXPECT_EQ(names(client_.list("", "b", 10)), (Names{"c"}));
}

TEST_P(LeaseListing, EndedLeasesDoNotFillAPage) {
  for (int i = 0; i < 20; ++i) {
    client_.take("a" + std::to_string(i), client_.owner(), {.ttl = 500ms});
  }
  client_.take("z", client_.owner(), {.ttl = 60s});
  outlive(500ms);
  EXPECT_EQ(names(client_.list("", "", 5)), (Names{"z"}));
}

TEST_P(LeaseListing, RefusesAPageOfNothingOrTooMuch) {
  EXPECT_THROW(client_.list("", "", 0), InvalidArgument);
  EXPECT_THROW(client_.list("", "", 1001), InvalidArgument);
  EXPECT_NO_THROW(client_.list("", "", 1000));
}

TEST_P(LeaseListing, CountsWaitersAndShowsOffers) {
  auto const holder = client_.owner();
  client_.take("a", holder, {.ttl = 60s});
  client_.wait_for("a", client_.owner());
  client_.wait_for("a", client_.owner());
  EXPECT_EQ(client_.list().leases.at(0).waiting, 2U);
  EXPECT_TRUE(client_.release("a", holder));
  EXPECT_TRUE(client_.list().leases.at(0).offered);
  EXPECT_EQ(client_.list().leases.at(0).waiting, 1U);
}

}  // namespace
}  // namespace holt::test
