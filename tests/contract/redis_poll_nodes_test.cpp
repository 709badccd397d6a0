// SPDX-License-Identifier: Apache-2.0
// Polling in the layout poll: nodes of Holt beside nodes of the fleet that run the original, whose
// sessions are the endpoints. Nobody can be asked there, so what another should have is released.

#include "contract/redis_poll_fixture.hpp"
#include "primitives/rendezvous.hpp"

#include <holt/holt.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace holt::test {
namespace {

constexpr std::string_view ours = "api-1736598400000000000-a1b2c3d4";
constexpr std::string_view theirs = "api-1736598400000000777-77b2c3d9";

class PollNodes : public testing::Test {
 protected:
  PollNodes() {
    for (int i = 0; i < 20; ++i) {
      auto const id = "target-" + std::to_string(i * 7919);
      redis_.done({"SET", "session:" + id, R"({"isPaused":false})"});
      (preferred(id) == ours ? for_us_ : for_them_).push_back(id);
    }
    std::ranges::sort(for_us_);
  }
  /// As the fleet finds it.
  static std::string_view preferred(std::string const& endpoint) {
    auto const weight = [&](std::string_view node) {
      return rendezvous::weight(PollWeights::compatible, node, endpoint);
    };
    return weight(ours) > weight(theirs) ? ours : theirs;
  }
  Polling node(std::string_view id) {
    return holt_.polling("fleet", {.node = id,
                                   .every = 20ms,
                                   .ttl = 60s,
                                   .discover_every = 100ms,
                                   .settle = 0ms,
                                   .weights = PollWeights::compatible,
                                   .stored = true});
  }
  std::string holder(std::string const& endpoint) {
    auto const lease = holt_.find(Name("poll/fleet/" + endpoint));
    return lease ? lease->note : std::string();
  }

  PollStore store_{""};
  RedisClient redis_{store_.server().connect()};
  Holt holt_ = open(store_.url());
  std::vector<std::string> for_us_;
  std::vector<std::string> for_them_;
};

TEST_F(PollNodes, SessionsArePolledAndThoseOfANodeThatComesAreLeftToIt) {
  ASSERT_FALSE(for_us_.empty());
  ASSERT_FALSE(for_them_.empty());
  auto node_of_ours = node(ours);
  node_of_ours.start();
  ASSERT_TRUE(comes_true([&] { return node_of_ours.owned().size() == 20; }));
  OriginalNode original(store_.server(), std::string(theirs), 60'000);
  original.beat("init");
  EXPECT_TRUE(comes_true([&] { return holt_.nodes("fleet").size() == 2; }));
  EXPECT_EQ(node_of_ours.owned().size(), 20U) << "a node that starts is given nothing";
  original.beat("online");
  for (auto const& endpoint : for_them_) {
    EXPECT_TRUE(comes_true([&] { return original.acquire(endpoint); })) << endpoint;
    EXPECT_EQ(holder(endpoint), theirs);
  }
  EXPECT_TRUE(comes_true([&] { return node_of_ours.owned() == for_us_; }));
  redis_.done({"SET", "session:" + for_us_.front(), R"({"isPaused":true})"});
  EXPECT_TRUE(comes_true([&] { return node_of_ours.owned().size() == for_us_.size() - 1; }));
  EXPECT_TRUE(node_of_ours.stop());
  EXPECT_TRUE(original.acquire(for_us_.back())) << "what we had is free";
}

TEST_F(PollNodes, TwoOfOursShareAsTheFleetWould) {
  auto first = node(ours);
  first.start();
  ASSERT_TRUE(comes_true([&] { return first.owned().size() == 20; }));
  auto second = node(theirs);
  second.start();
  EXPECT_TRUE(comes_true([&] { return first.owned() == for_us_; }));
  EXPECT_TRUE(comes_true([&] { return second.owned().size() == for_them_.size(); }));
  EXPECT_TRUE(second.stop());
  EXPECT_TRUE(comes_true([&] { return first.owned().size() == 20; }));
}

}  // namespace
}  // namespace holt::test
