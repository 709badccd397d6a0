// SPDX-License-Identifier: Apache-2.0
#pragma once
// PostgreSQL in SyncGuard's layout as a store for the contract tests: two tables of its own, made
// as SyncGuard's setupSchema() makes them.

#include "support/postgres_stores.hpp"
#include "support/syncguard_exclusions.hpp"

#include <chrono>
#include <string>

namespace holt::test {

class PostgresSyncguardTestStore final : public PostgresTestStore {
 public:
  /// `options` are added to its address.
  explicit PostgresSyncguardTestStore(std::string options = {});

  [[nodiscard]] std::string url() const override;
  [[nodiscard]] std::chrono::nanoseconds tolerance() const override {
    return std::chrono::seconds(1);
  }
  [[nodiscard]] std::string locks() const { return schema() + "_locks"; }
  [[nodiscard]] std::string counters() const { return schema() + "_counters"; }

 private:
  std::string const options_;
};

}  // namespace holt::test
