// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/record_steps.hpp"

#include "base/check.hpp"
#include "contracts/input_rules.hpp"
#include "engines/sqlite/span.hpp"
#include "sqlite_sql.hpp"

#include <algorithm>
#include <utility>

namespace holt::sqlite {
namespace {

constexpr std::uint64_t writes_per_sweep = 4096;

Record record_of(Query const& row) {
  return {std::string(row.text(0)), std::string(row.text(1)),
          static_cast<std::uint64_t>(row.integer(2))};
}

/// Nothing expected: anything goes. 0: there must be none. Else: this version.
bool is_as_expected(std::optional<Record> const& current, std::optional<std::uint64_t> expected) {
  if (!expected) return true;
  return (current ? current->version : 0) == *expected;
}

}  // namespace

std::optional<Record> RecordStep::find(Connection& store, std::string const& key) const {
  Query row(store, sql::record_get, instance_, key, now_ns());
  if (!row.next()) return std::nullopt;
  return record_of(row);
}

void PutStep::run(Connection& store) {
  if (write_.expected) {
    auto current = find(store, write_.key);
    if (!is_as_expected(current, write_.expected)) {
      result_ = std::unexpected(Conflict{std::move(current)});
      return;
    }
  }
  auto const version = draw_version(store);
  std::optional<std::int64_t> until;
  if (write_.ttl.count() > 0) until = now_ns() + std::min(write_.ttl.count(), longest_ns);
  Query(store, sql::record_put, instance(), write_.key, Blob{write_.value}, version, until).run();
  if (version % writes_per_sweep == 0) Query(store, sql::record_sweep, now_ns()).run();
  result_ = version;
}

std::uint64_t PutStep::draw_version(Connection& store) const {
  auto const start =
      std::chrono::duration_cast<std::chrono::microseconds>(env().wall().time_since_epoch());
  Query row(store, sql::record_version_draw, instance(), start.count());
  HOLT_CHECK(row.next());
  return static_cast<std::uint64_t>(row.integer(0));
}

void EraseStep::run(Connection& store) {
  auto current = find(store, key_);
  if (!is_as_expected(current, expected_)) {
    result_ = std::unexpected(Conflict{std::move(current)});
    return;
  }
  Query(store, sql::record_erase, instance(), key_).run();
  result_ = current.has_value();
}

void RecordListStep::select(std::string prefix, std::string const& cursor, std::uint32_t limit) {
  check_page_size(limit);
  first_ = first_of_page(prefix, cursor);
  prefix_ = std::move(prefix);
  limit_ = limit;
}

/// Asks for one row more than fits, to know whether there is a next page.
void RecordListStep::run(Connection& store) {
  result_ = {};
  Query row(store, sql::record_list, instance(), first_, now_ns(), limit_ + 1);
  while (row.next() && row.text(0).starts_with(prefix_)) {
    if (result_.records.size() == limit_) {
      result_.next = result_.records.back().key;
      return;
    }
    result_.records.push_back(record_of(row));
  }
}

void AddStep::run(Connection& store) {
  Query row(store, sql::counter_add, instance(), counter_, step_);
  HOLT_CHECK(row.next());
  result_ = row.integer(0);
}

}  // namespace holt::sqlite
