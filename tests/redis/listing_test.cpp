// SPDX-License-Identifier: Apache-2.0
// Listings of many names: all of them, in order, in calls that do not keep the server for long.

#include "redis/store_behind_proxy.hpp"
#include "support/servers/redis_traffic.hpp"

#include <algorithm>

namespace holt::test {
namespace {

using Strings = std::vector<std::string>;

class RedisListing : public testing::Test {
 protected:
  /// Everything, in pages of this size.
  Strings listed(std::string const& prefix, std::uint32_t limit) {
    Strings found;
    std::string cursor;
    do {
      auto const page =
          run(caller_.engine().leases().list(prefix, cursor, limit, caller_.deadline()));
      EXPECT_LE(page.leases.size(), limit);
      for (auto const& lease : page.leases) found.push_back(lease.name.text());
      cursor = page.next;
    } while (!cursor.empty());
    return found;
  }
  Strings take_all(Strings names) {
    for (auto const& name : names) caller_.take(name, owner_, 600s);
    std::ranges::sort(names);
    return names;
  }

  RedisServer server_;
  RedisCaller caller_{server_.url()};
  Owner owner_ = caller_.owner();
};

TEST_F(RedisListing, OfManyNamesIsWholeAndInOrder) {
  Strings names;
  for (int i = 0; i < 1500; ++i) names.push_back("spread/" + std::to_string(i));
  auto const spread = take_all(names);
  Strings crowd;
  for (int i = 0; i < 400; ++i) crowd.push_back("{one shard}/" + std::to_string(i));
  auto const crowded = take_all(crowd);
  auto all = spread;
  all.insert(all.end(), crowded.begin(), crowded.end());
  std::ranges::sort(all);
  for (std::uint32_t const limit : {7U, 100U, 1000U}) {
    EXPECT_EQ(listed("", limit), all) << limit;
    EXPECT_EQ(listed("spread/", limit), spread) << limit;
    EXPECT_EQ(listed("{one shard}/", limit), crowded) << limit;
  }
  auto const few = listed("spread/77", 100);
  EXPECT_EQ(few.size(), 11U) << "77, 770 to 779";
}

/// The largest page: each shard is asked for its share of it and a little more.
TEST(RedisListings, NoCallAsksForAPageOfEachShard) {
  RedisServer const server;
  TcpProxy const proxy(server.port());
  RedisCaller caller(url_of(proxy));
  (void)run(caller.engine().leases().list("", "", 1000, caller.deadline()));
  int calls = 0;
  for (auto const& words : commands_sent(proxy)) {
    if (words[0] != "EVALSHA" || words[2] != "64") continue;
    ++calls;
    EXPECT_LE(std::stoul(words.back()), 24U);
  }
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace holt::test
