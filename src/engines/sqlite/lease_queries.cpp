// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/lease_queries.hpp"

#include "contracts/input_rules.hpp"
#include "sqlite_sql.hpp"

#include <algorithm>
#include <utility>

namespace holt::sqlite {
namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;

Owner owner_of(std::string_view text) {
  auto owner = Owner::parse(text);
  return owner ? std::move(*owner) : Owner();
}

/// A row of lease_find or lease_list.
LeaseInfo info_of(Query const& row, std::int64_t now_ns) {
  auto const left = Nanos(std::max<std::int64_t>(row.integer(4) - now_ns, 0));
  return {.name = Name(row.text(0)),
          .owner = owner_of(row.text(1)),
          .fence = Fence(static_cast<std::uint64_t>(row.integer(2))),
          .offered = row.integer(3) != 0,
          .acquired_at = std::chrono::system_clock::time_point(milliseconds(row.integer(6))),
          .ttl = ceil<milliseconds>(Nanos(row.integer(5))),
          .expires_in = ceil<milliseconds>(left),
          .waiting = static_cast<std::uint32_t>(row.integer(9)),
          .note = std::string(row.text(7)),
          .broken = std::string(row.text(8))};
}

std::int64_t now_ns(Env const& env) { return env.now().time_since_epoch().count(); }

}  // namespace

void FindStep::run(Connection& store) {
  result_.reset();
  auto const now = now_ns(env_);
  Query row(store, sql::lease_find, instance_, name_.text(), now);
  if (row.next()) result_ = info_of(row, now);
}

void ListStep::select(std::string prefix, std::string cursor, std::uint32_t limit) {
  check_page_size(limit);
  first_ = first_of_page(prefix, cursor);
  prefix_ = std::move(prefix);
  limit_ = limit;
}

/// Asks for one row more than fits, to know whether there is a next page.
void ListStep::run(Connection& store) {
  result_ = {};
  auto const now = now_ns(env_);
  Query row(store, sql::lease_list, instance_, first_, now, limit_ + 1);
  while (row.next() && row.text(0).starts_with(prefix_)) {
    if (result_.leases.size() == limit_) {
      result_.next = result_.leases.back().name.text();
      return;
    }
    result_.leases.push_back(info_of(row, now));
  }
}

}  // namespace holt::sqlite
