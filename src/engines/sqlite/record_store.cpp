// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/record_store.hpp"

#include "contracts/input_rules.hpp"
#include "engines/sqlite/record_steps.hpp"

#include <utility>

namespace holt::sqlite {
SqliteRecordStore::SqliteRecordStore(Env& env, std::function<Writer&()> writer, Reader& reader,
                                     std::string instance)
    : env_(env), writer_(std::move(writer)), reader_(reader), instance_(std::move(instance)) {}

asio::awaitable<std::optional<Record>> SqliteRecordStore::get(std::string key, Instant deadline) {
  check_key(key);
  GetStep step(env_, instance_, key, deadline);
  co_await reader_.run(step);
  co_return std::move(step.result());
}

asio::awaitable<std::expected<std::uint64_t, Conflict>> SqliteRecordStore::put(RecordWrite write,
                                                                               Instant deadline) {
  check_key(write.key);
  check_value(write.value);
  PutStep step(env_, instance_, write, deadline);
  co_await writer_().run(step);
  co_return std::move(step.result());
}

asio::awaitable<std::expected<bool, Conflict>> SqliteRecordStore::erase(
    std::string key, std::optional<std::uint64_t> expected, Instant deadline) {
  check_key(key);
  EraseStep step(env_, instance_, key, deadline);
  step.expect(expected);
  co_await writer_().run(step);
  co_return std::move(step.result());
}

asio::awaitable<RecordPage> SqliteRecordStore::list(std::string prefix, std::string cursor,
                                                    std::uint32_t limit, Instant deadline) {
  RecordListStep step(env_, instance_, deadline);
  step.select(std::move(prefix), cursor, limit);
  co_await reader_.run(step);
  co_return std::move(step.result());
}

asio::awaitable<std::int64_t> SqliteRecordStore::add(std::string counter, std::int64_t step,
                                                     Instant deadline) {
  check_key(counter);
  AddStep adding(env_, instance_, counter, deadline);
  adding.by(step);
  co_await writer_().run(adding);
  co_return adding.result();
}

}  // namespace holt::sqlite
