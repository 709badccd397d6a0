// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/poll_record_store.hpp"

#include "contracts/input_rules.hpp"
#include "contracts/polling_names.hpp"
#include "engines/redis/key_scan.hpp"
#include "engines/redis/poll_values.hpp"
#include "engines/redis/scripting.hpp"
#include "redis_scripts.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::size_t lookups_per_call = 128;  // so that no call keeps the server for long
constexpr std::uint64_t only_version = 1;

/// Throws InvalidArgument for a record that the fleet alone writes.
void check_not_fleets(std::string const& key, PollOptions const& fleet) {
  if (!poll_name(key, endpoint_record_start)) return;
  throw InvalidArgument(
      fmt::format("the record \"{}\" cannot be changed with layout={}: it is a session of the "
                  "fleet ({}...), which alone adds, pauses and deletes those",
                  key, poll_layout, fleet.session_start));
}

}  // namespace

asio::awaitable<void> PollRecordStore::look_up(std::string head, std::vector<std::string> ids,
                                               std::vector<Record>& into, Instant deadline) {
  ScriptCall call(scripts::poll_sessions, 2 * ids.size(), 0);
  for (auto const& id : ids) call.add(fleet_.session_start, id).add(fleet_.tombstone_start, id);
  Reply const reply = co_await run_script(connection_, call, Effect::reads, deadline);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto const state = (*reply)[i].integer();
    if (state == 0) continue;
    Record record;
    record.key = head + ids[i];
    if (state == 2) record.value = paused_endpoint;
    record.version = only_version;
    into.push_back(std::move(record));
  }
}

asio::awaitable<std::optional<Record>> PollRecordStore::get(std::string key, Instant deadline) {
  check_key(key);
  std::optional<Record> found;
  auto const session = poll_name(key, endpoint_record_start);
  if (!session) {
    found = co_await native_.get(std::move(key), deadline);
    co_return found;
  }
  std::vector<std::string> ids{std::string(session->id)};
  auto head = key.substr(0, key.size() - session->id.size());
  std::vector<Record> records;
  co_await look_up(std::move(head), std::move(ids), records, deadline);
  if (!records.empty()) found = std::move(records.front());
  co_return found;
}

asio::awaitable<std::expected<std::uint64_t, Conflict>> PollRecordStore::put(RecordWrite write,
                                                                             Instant deadline) {
  check_not_fleets(write.key, fleet_);
  return native_.put(std::move(write), deadline);
}

asio::awaitable<std::expected<bool, Conflict>> PollRecordStore::erase(
    std::string key, std::optional<std::uint64_t> expected, Instant deadline) {
  check_not_fleets(key, fleet_);
  return native_.erase(std::move(key), expected, deadline);
}

/// The first `most` of them.
asio::awaitable<std::vector<Record>> PollRecordStore::list_sessions(std::string prefix,
                                                                    std::string cursor,
                                                                    std::size_t most,
                                                                    Instant deadline) {
  std::vector<Record> records;
  auto const range = poll_range(prefix, endpoint_record_start);
  if (!range) co_return records;
  std::vector<std::string> ids =
      co_await scan_keys(connection_, fleet_.session_start, range->ids, deadline);
  std::erase_if(ids, [&](std::string const& id) {
    auto const key = range->head + id;
    return id.empty() || (!cursor.empty() && key <= cursor) || !is_name(key);
  });
  for (std::size_t at = 0; at < ids.size() && records.size() < most; at += lookups_per_call) {
    auto const end = std::min(at + lookups_per_call, ids.size());
    std::vector<std::string> some(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                  ids.begin() + static_cast<std::ptrdiff_t>(end));
    co_await look_up(range->head, std::move(some), records, deadline);
  }
  co_return records;
}

/// The native page, with the fleet's sessions where they belong.
asio::awaitable<RecordPage> PollRecordStore::list(std::string prefix, std::string cursor,
                                                  std::uint32_t limit, Instant deadline) {
  check_page_size(limit);
  RecordPage page;
  if (!prefix.starts_with(endpoint_record_start)) {
    page = co_await native_.list(prefix, cursor, limit, deadline);
  }
  // From before this layout was used here.
  std::erase_if(page.records,
                [](Record const& record) { return record.key.starts_with(endpoint_record_start); });
  std::vector<Record> sessions = co_await list_sessions(std::move(prefix), std::move(cursor),
                                                        std::size_t{limit} + 1, deadline);
  page.next = merge_pages(page.records, std::move(page.next), std::move(sessions), limit,
                          [](Record const& record) { return record.key; });
  co_return page;
}

asio::awaitable<std::int64_t> PollRecordStore::add(std::string counter, std::int64_t step,
                                                   Instant deadline) {
  return native_.add(std::move(counter), step, deadline);
}

}  // namespace holt::redis
