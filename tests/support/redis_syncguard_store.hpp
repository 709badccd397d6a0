// SPDX-License-Identifier: Apache-2.0
#pragma once
// Redis in SyncGuard's layout as a store for the contract tests.

#include "support/redis_stores.hpp"
#include "support/syncguard_exclusions.hpp"

#include <string>
#include <vector>

namespace holt::test {

class RedisSyncguardTestStore final : public RedisTestStore {
 public:
  [[nodiscard]] std::string url() const override {
    return server().url() + "?layout=syncguard&prefix=fleet";
  }
  [[nodiscard]] bool hints_at_changes() const override { return false; }
};

[[nodiscard]] inline std::vector<Exclusion> not_in_redis_syncguard() {
  auto exclusions = not_in_syncguard();
  exclusions.push_back({"LeaseRenew.DoesNotBringBackWhatEnded",
                        "what ended is gone: its owner cannot be told it was its own"});
  return exclusions;
}

}  // namespace holt::test
