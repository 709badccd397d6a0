// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/instance_record_store.hpp"

#include "contracts/input_rules.hpp"
#include "contracts/instance_names.hpp"
#include "engines/redis/key_scan.hpp"
#include "engines/redis/lease_steps.hpp"
#include "engines/redis/scripting.hpp"
#include "redis_scripts.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::string_view instances_key = "holt:instances";
constexpr std::string_view versions_key = "{holt:instances}:versions";  // in the same slot
constexpr std::string_view counter_key = "holt:instance_counter";

constexpr std::size_t records_at_once = 64;  // of up to 64 KiB each

bool is_instance(std::string_view key) { return key.starts_with(instance_record_start); }

std::string_view name_in(std::string_view key) { return key.substr(instance_record_start.size()); }

std::string version_text(std::optional<std::uint64_t> expected) {
  return expected ? std::to_string(*expected) : std::string();
}

std::uint64_t number(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

ScriptCall call_of(Script const& script, std::size_t words) {
  ScriptCall call(script, 2, words);
  call.add(instances_key).add(versions_key);
  return call;
}

std::optional<Record> record_of(std::string key, ReplyView const& value, ReplyView const& version) {
  if (value.is_nil()) return std::nullopt;
  Record record;
  record.key = std::move(key);
  record.value = value.text();
  record.version = number(version.text());
  return record;
}

}  // namespace

asio::awaitable<Reply> InstanceRecordStore::change(ScriptCall const& call,
                                                   std::string_view operation, Instant deadline) {
  DurableWrites::Written written = co_await writes_.run(call, writing, deadline);
  if (!written.confirmed) throw writes_.not_durable(written, Outcome::unknown, operation);
  co_return std::move(written.reply);
}

asio::awaitable<void> InstanceRecordStore::look_up(std::vector<std::string> keys,
                                                   std::vector<Record>& into, Instant deadline) {
  ScriptCall call = call_of(scripts::instance_get, keys.size());
  for (auto const& key : keys) call.add(name_in(key));
  Reply const reply = co_await run_script(servers_, call, reading, deadline);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto const found = (*reply)[i];
    auto record = record_of(std::move(keys[i]), found[0], found[1]);
    if (record) into.push_back(std::move(*record));
  }
}

asio::awaitable<std::optional<Record>> InstanceRecordStore::get(std::string key, Instant deadline) {
  check_key(key);
  std::optional<Record> found;
  if (!is_instance(key)) {
    found = co_await native_.get(std::move(key), deadline);
    co_return found;
  }
  std::vector<std::string> keys{std::move(key)};
  std::vector<Record> records;
  co_await look_up(std::move(keys), records, deadline);
  if (!records.empty()) found = std::move(records.front());
  co_return found;
}

asio::awaitable<std::expected<std::uint64_t, Conflict>> InstanceRecordStore::put(RecordWrite write,
                                                                                 Instant deadline) {
  if (!is_instance(write.key)) return native_.put(std::move(write), deadline);
  return put_instance(std::move(write), deadline);
}

asio::awaitable<std::expected<std::uint64_t, Conflict>> InstanceRecordStore::put_instance(
    RecordWrite write, Instant deadline) {
  check_key(write.key);
  check_value(write.value);
  ScriptCall call = call_of(scripts::instance_put, 4);
  call.add(name_in(write.key)).add(write.value);
  call.add(version_text(write.expected)).add(script_ms(write.ttl));
  Reply const reply = co_await change(call, "put", deadline);
  auto const& answer = *reply;
  if (answer[0].integer() == 1) co_return number(answer[1].text());
  Conflict conflict;
  conflict.current = record_of(std::move(write.key), answer[1], answer[2]);
  co_return std::unexpected(std::move(conflict));
}

asio::awaitable<std::expected<bool, Conflict>> InstanceRecordStore::erase(
    std::string key, std::optional<std::uint64_t> expected, Instant deadline) {
  if (!is_instance(key)) return native_.erase(std::move(key), expected, deadline);
  return erase_instance(std::move(key), expected, deadline);
}

asio::awaitable<std::expected<bool, Conflict>> InstanceRecordStore::erase_instance(
    std::string key, std::optional<std::uint64_t> expected, Instant deadline) {
  check_key(key);
  ScriptCall call = call_of(scripts::instance_erase, 2);
  call.add(name_in(key)).add(version_text(expected));
  Reply const reply = co_await change(call, "erase", deadline);
  auto const& answer = *reply;
  if (answer[0].integer() == 1) co_return answer[1].integer() != 0;
  Conflict conflict;
  conflict.current = record_of(std::move(key), answer[1], answer[2]);
  co_return std::unexpected(std::move(conflict));
}

asio::awaitable<std::vector<Record>> InstanceRecordStore::list_instances(std::string prefix,
                                                                         std::string cursor,
                                                                         std::size_t most,
                                                                         Instant deadline) {
  auto all = command("HKEYS", instances_key);
  Reply const names =
      co_await run_command(servers_, instances_key, std::move(all), reading, "list", deadline);
  auto const first = first_of_page(prefix, cursor);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < names->size(); ++i) {
    auto key = std::string(instance_record_start).append((*names)[i].text());
    bool const wanted = key.starts_with(prefix) && key >= first && key.size() <= Name::max_bytes;
    if (wanted) keys.push_back(std::move(key));
  }
  std::ranges::sort(keys);  // here: the server sorts by its locale
  std::vector<Record> records;
  for (std::size_t at = 0; at < keys.size() && records.size() < most; at += records_at_once) {
    auto const end = std::min(at + records_at_once, keys.size());
    std::vector<std::string> some(keys.begin() + static_cast<std::ptrdiff_t>(at),
                                  keys.begin() + static_cast<std::ptrdiff_t>(end));
    co_await look_up(std::move(some), records, deadline);
  }
  co_return records;
}

/// The native page, with the instances where they belong.
asio::awaitable<RecordPage> InstanceRecordStore::list(std::string prefix, std::string cursor,
                                                      std::uint32_t limit, Instant deadline) {
  check_page_size(limit);
  bool const only_instances = is_instance(prefix);
  bool const instances_too = only_instances || instance_record_start.starts_with(prefix);
  RecordPage page;
  if (!only_instances) page = co_await native_.list(prefix, cursor, limit, deadline);
  if (!instances_too) co_return page;
  std::vector<Record> instances = co_await list_instances(std::move(prefix), std::move(cursor),
                                                          std::size_t{limit} + 1, deadline);
  page.next = merge_pages(page.records, std::move(page.next), std::move(instances), limit,
                          [](Record const& record) { return record.key; });
  co_return page;
}

asio::awaitable<std::int64_t> InstanceRecordStore::add(std::string counter, std::int64_t step,
                                                       Instant deadline) {
  if (counter != instance_counter) return native_.add(std::move(counter), step, deadline);
  return count_instances(step, deadline);
}

asio::awaitable<std::int64_t> InstanceRecordStore::count_instances(std::int64_t step,
                                                                   Instant deadline) {
  auto increase = command("INCRBY", counter_key, Digits(step));
  DurableWrites::Written written =
      co_await writes_.run(counter_key, std::move(increase), "add", deadline);
  if (!written.confirmed) throw writes_.not_durable(written, Outcome::unknown, "add");
  Reply const reply = std::move(written.reply);
  co_return reply->integer();
}

}  // namespace holt::redis
