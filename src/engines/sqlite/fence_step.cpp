// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/fence_step.hpp"

#include "sqlite_sql.hpp"

#include <chrono>

namespace holt::sqlite {
namespace {

constexpr std::int64_t jump = std::int64_t{1} << 32U;

std::int64_t microseconds_of(std::chrono::system_clock::time_point wall) {
  return std::chrono::duration_cast<std::chrono::microseconds>(wall.time_since_epoch()).count();
}

}  // namespace

void RaiseFenceStep::run(Connection& store) {
  std::int64_t before = 0;
  {
    Query row(store, sql::fence_read, instance_);
    if (row.next()) before = row.integer(0);
  }
  auto const after = (before == 0 ? microseconds_of(env_.wall()) : before) + jump;
  Query(store, sql::fence_write, instance_, after).run();
  result_ = {Fence(static_cast<std::uint64_t>(before)), Fence(static_cast<std::uint64_t>(after))};
}

}  // namespace holt::sqlite
