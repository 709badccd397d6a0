// SPDX-License-Identifier: Apache-2.0
#pragma once
// PostgreSQL as stores for the contract tests. A server takes a second to make, so the stores of
// one test program share one, each with a schema of its own: one such store at a time. The server
// runs on a clock that advance() sets forward, so that no test of an expiry waits for it.

#include "support/engines.hpp"
#include "support/servers/postgres_server.hpp"
#include "support/servers/shifted_clock.hpp"

#include <chrono>
#include <string>

namespace holt::test {

class PostgresTestStore : public TestStore {
 public:
  PostgresTestStore();

  [[nodiscard]] std::string url() const override;
  [[nodiscard]] Env& env() override { return env_; }
  void advance(std::chrono::nanoseconds by) override;
  void notice_departures() override;
  [[nodiscard]] bool hints_at_changes() const override { return false; }
  [[nodiscard]] std::string const& schema() const { return schema_; }
  /// Shared by the stores of this kind; made when it is first asked for.
  [[nodiscard]] static PostgresServer& server();

 private:
  std::string schema_;
  std::chrono::nanoseconds shift_{};
  TestEnv env_;
};

}  // namespace holt::test
