// SPDX-License-Identifier: Apache-2.0
#pragma once
// Redis in SyncGuard's layout as a store for the contract tests, and the clauses of the contract
// that this layout cannot keep, each with its reason.

#include "support/redis_stores.hpp"

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

[[nodiscard]] std::vector<Exclusion> not_in_syncguard();

}  // namespace holt::test
