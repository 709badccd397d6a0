// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/record_store.hpp"

#include "contracts/input_rules.hpp"
#include "engines/postgres/span.hpp"
#include "postgres_sql.hpp"

#include <utility>

namespace holt::postgres {
namespace {

Statement on_tables(std::string_view text, Place const& place) {
  return statement(in_schema(text, place.schema));
}

Record record_of(Answer const& answer, int row) {
  return {std::string(answer.text(row, 0)), std::string(answer.text(row, 1)),
          static_cast<std::uint64_t>(answer.integer(row, 2))};
}

/// Of a change that was not as expected.
Conflict conflict_of(Answer const& answer, std::string key) {
  Conflict conflict;
  if (answer.is_null(0, 1)) return conflict;
  conflict.current = Record{std::move(key), std::string(answer.text(0, 2)),
                            static_cast<std::uint64_t>(answer.integer(0, 1))};
  return conflict;
}

void add_expected(Parameters& parameters, std::optional<std::uint64_t> expected) {
  if (expected) {
    parameters.add(static_cast<std::int64_t>(*expected));
  } else {
    parameters.add_null();
  }
}

}  // namespace

PostgresRecordStore::PostgresRecordStore(Env& env, Pool& pool, Place const& place,
                                         std::string instance)
    : env_(env),
      pool_(pool),
      instance_(std::move(instance)),
      get_(on_tables(sql::record_get, place)),
      change_(kept_statement(in_schema(sql::record_change, place.schema))),
      list_(on_tables(sql::record_list, place)),
      add_(on_tables(sql::counter_add, place)) {}

asio::awaitable<std::optional<Record>> PostgresRecordStore::get(std::string key, Instant deadline) {
  check_key(key);
  Parameters parameters;
  parameters.add(instance_).add(key);
  Answer const answer =
      co_await pool_.call(get_, std::move(parameters), Effect::reads, "get", deadline);
  if (answer.rows() == 0) co_return std::nullopt;
  co_return record_of(answer, 0);
}

Parameters PostgresRecordStore::change(std::string const& key, Instant deadline) const {
  Parameters parameters;
  parameters.add(instance_).add(lock_patience(env_.now(), deadline)).add(key);
  return parameters;
}

asio::awaitable<std::expected<std::uint64_t, Conflict>> PostgresRecordStore::put(RecordWrite write,
                                                                                 Instant deadline) {
  check_key(write.key);
  check_value(write.value);
  auto parameters = change(write.key, deadline);
  parameters.add_bytes(write.value);
  add_expected(parameters, write.expected);
  parameters.add(to_us(write.ttl));
  Answer const answer =
      co_await pool_.call(change_, std::move(parameters), Effect::writes, "put", deadline);
  if (!answer.flag(0, 0)) co_return std::unexpected(conflict_of(answer, std::move(write.key)));
  co_return static_cast<std::uint64_t>(answer.integer(0, 1));
}

asio::awaitable<std::expected<bool, Conflict>> PostgresRecordStore::erase(
    std::string key, std::optional<std::uint64_t> expected, Instant deadline) {
  check_key(key);
  auto parameters = change(key, deadline);
  parameters.add_null();
  add_expected(parameters, expected);
  parameters.add(std::int64_t{0});
  Answer const answer =
      co_await pool_.call(change_, std::move(parameters), Effect::writes, "erase", deadline);
  if (!answer.flag(0, 0)) co_return std::unexpected(conflict_of(answer, std::move(key)));
  co_return !answer.is_null(0, 1);
}

asio::awaitable<RecordPage> PostgresRecordStore::list(std::string prefix, std::string cursor,
                                                      std::uint32_t limit, Instant deadline) {
  check_page_size(limit);
  // One row more than fits, to know whether there is a next page.
  Parameters parameters;
  parameters.add(instance_).add(prefix).add(cursor).add(static_cast<std::int32_t>(limit + 1));
  Answer const answer =
      co_await pool_.call(list_, std::move(parameters), Effect::reads, "list", deadline);
  RecordPage page;
  for (int row = 0; row < answer.rows() && answer.text(row, 0).starts_with(prefix); ++row) {
    if (page.records.size() == limit) {
      page.next = page.records.back().key;
      break;
    }
    page.records.push_back(record_of(answer, row));
  }
  co_return page;
}

asio::awaitable<std::int64_t> PostgresRecordStore::add(std::string counter, std::int64_t step,
                                                       Instant deadline) {
  check_key(counter);
  Parameters parameters;
  parameters.add(instance_).add(counter).add(step);
  Answer const answer =
      co_await pool_.call(add_, std::move(parameters), Effect::writes, "add", deadline);
  co_return answer.integer(0, 0);
}

}  // namespace holt::postgres
