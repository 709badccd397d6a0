// SPDX-License-Identifier: Apache-2.0
#include "support/postgres_stores.hpp"

#include "support/servers/wait_until.hpp"

#include <stdexcept>

namespace holt::test {
namespace {

/// In a folder that the server's user may look into.
struct SharedClock {
  SharedClock() {
    if (!postgres_user().empty()) give_to(postgres_user(), folder.path());
  }
  TemporaryFolder folder;
  ShiftedClock clock{folder.file("shift")};
};

SharedClock const& shared_clock() {
  static SharedClock const clock;
  return clock;
}

std::string new_schema() {
  static int count = 0;
  return "holt_" + std::to_string(++count);
}

}  // namespace

PostgresServer& PostgresTestStore::server() {
  auto const& shared = shared_clock();
  static PostgresServer it({.environment = shared.clock.environment()});
  return it;
}

PostgresTestStore::PostgresTestStore() : schema_(new_schema()) {
  static_cast<void>(server());
  shared_clock().clock.set(shift_);
}

std::string PostgresTestStore::url() const { return server().url() + "?schema=" + schema_; }

void PostgresTestStore::advance(std::chrono::nanoseconds by) {
  env_.advance(by);
  shared_clock().clock.set(shift_ += by);
}

/// Who listens has a lock for as long as the server has not ended its backend.
void PostgresTestStore::notice_departures() {
  auto const one_listens = [] {
    return server().query(
               "SELECT count(DISTINCT pid) < 2 FROM pg_locks "
               "WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'") == "t";
  };
  if (!wait_until(one_listens)) throw std::runtime_error("a client that is gone still listens");
}

}  // namespace holt::test
