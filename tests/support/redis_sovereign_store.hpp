// SPDX-License-Identifier: Apache-2.0
#pragma once
// Redis in Sovereign's layout as a store for the contract tests of elections; the one that they
// stand for is "e".

#include "support/redis_stores.hpp"

#include <string>
#include <vector>

namespace holt::test {

class RedisSovereignTestStore final : public RedisTestStore {
 public:
  [[nodiscard]] std::string url() const override {
    return server().url() + "?layout=sovereign&leader_key=e";
  }
  [[nodiscard]] bool hints_at_changes() const override { return false; }
};

[[nodiscard]] inline std::vector<Exclusion> not_in_redis_sovereign() {
  return {
      {"Elections.ABrokenLeadershipIsLostAndPassesOn",
       "the layout cannot ask a leader to stop, only free with `now`"},
      {"Elections.ALockDelayKeepsEverybodyOutAfterALossAndNotAfterAStop",
       "the layout has no place for a delay, and originals would not keep it"},
  };
}

}  // namespace holt::test
