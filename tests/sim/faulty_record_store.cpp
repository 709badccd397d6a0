// SPDX-License-Identifier: Apache-2.0
#include "sim/faulty_record_store.hpp"

#include <fmt/format.h>

#include <utility>

namespace holt::sim {

asio::awaitable<std::optional<Record>> FaultyRecordStore::get(std::string key, Instant deadline) {
  using Answer = std::optional<Record>;
  FaultyLink::Request<Answer> ask = [this, key](Instant by) { return store_.get(key, by); };
  return link_.call<Answer>("get", std::move(ask), deadline);
}

asio::awaitable<std::expected<std::uint64_t, Conflict>> FaultyRecordStore::put(RecordWrite write,
                                                                               Instant deadline) {
  using Answer = std::expected<std::uint64_t, Conflict>;
  FaultyLink::Request<Answer> ask = [this, write](Instant by) { return seen_put(write, by); };
  return link_.call<Answer>("put", std::move(ask), deadline);
}

asio::awaitable<std::expected<bool, Conflict>> FaultyRecordStore::erase(
    std::string key, std::optional<std::uint64_t> expected, Instant deadline) {
  using Answer = std::expected<bool, Conflict>;
  FaultyLink::Request<Answer> ask = [this, key, expected](Instant by) {
    return seen_erase(key, expected, by);
  };
  return link_.call<Answer>("erase", std::move(ask), deadline);
}

asio::awaitable<RecordPage> FaultyRecordStore::list(std::string prefix, std::string cursor,
                                                    std::uint32_t limit, Instant deadline) {
  FaultyLink::Request<RecordPage> ask = [this, prefix, cursor, limit](Instant by) {
    return store_.list(prefix, cursor, limit, by);
  };
  return link_.call<RecordPage>("list records", std::move(ask), deadline);
}

asio::awaitable<std::int64_t> FaultyRecordStore::add(std::string counter, std::int64_t step,
                                                     Instant deadline) {
  FaultyLink::Request<std::int64_t> ask = [this, counter, step](Instant by) {
    return seen_add(counter, step, by);
  };
  return link_.call<std::int64_t>("add", std::move(ask), deadline);
}

asio::awaitable<std::expected<std::uint64_t, Conflict>> FaultyRecordStore::seen_put(
    RecordWrite write, Instant deadline) {
  auto answer = co_await store_.put(write, deadline);
  if (link_.store_lost()) co_return answer;
  link_.say(fmt::format("store writes {}: {}", write.key, answer ? "done" : "not as expected"));
  if (answer) landlord_.wrote(link_.node(), write.key, write.value);
  co_return answer;
}

asio::awaitable<std::expected<bool, Conflict>> FaultyRecordStore::seen_erase(
    std::string key, std::optional<std::uint64_t> expected, Instant deadline) {
  auto answer = co_await store_.erase(key, expected, deadline);
  if (link_.store_lost()) co_return answer;
  link_.say(fmt::format("store erases {}: {}", key,
                        !answer   ? "not as expected"
                        : *answer ? "done"
                                  : "there is none"));
  if (answer && *answer) landlord_.erased(link_.node(), key);
  co_return answer;
}

asio::awaitable<std::int64_t> FaultyRecordStore::seen_add(std::string counter, std::int64_t step,
                                                          Instant deadline) {
  auto const answer = co_await store_.add(counter, step, deadline);
  if (link_.store_lost()) co_return answer;
  link_.say(fmt::format("store counts {} to {}", counter, answer));
  landlord_.drew(answer);
  co_return answer;
}

}  // namespace holt::sim
