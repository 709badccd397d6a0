// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/record_store.hpp"

#include "contracts/input_rules.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/listing.hpp"
#include "engines/redis/scripting.hpp"
#include "engines/redis/together.hpp"
#include "redis_scripts.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::size_t records_at_once = 64;  // of up to 64 KiB each
constexpr std::int64_t longest_ms = std::int64_t{1} << 42U;

std::optional<Record> record_of(std::string const& key, ReplyView const& stored) {
  if (stored.is_nil()) return std::nullopt;
  auto const text = stored.text();
  auto const end = std::min(text.find('\n'), text.size());
  Record record;
  record.key = key;
  auto const version = text.substr(0, end);
  auto const [stop, error] = std::from_chars(version.begin(), version.end(), record.version);
  if (error != std::errc() || stop != version.end() || end == text.size()) {
    throw failed(ErrorCode::internal, Outcome::unknown, "get",
                 "what is stored under \"" + key + "\" was not written by Holt",
                 "somebody else writes keys that begin with holt: on this server");
  }
  record.value = text.substr(end + 1);
  return record;
}

std::string version_text(std::optional<std::uint64_t> expected) {
  return expected ? std::to_string(*expected) : std::string();
}

std::int64_t ms(std::chrono::nanoseconds ttl) {
  auto const count = std::chrono::ceil<std::chrono::milliseconds>(ttl).count();
  return std::clamp<std::int64_t>(count, 0, longest_ms);
}

}  // namespace

asio::awaitable<std::optional<Record>> RedisRecordStore::get(std::string key, Instant deadline) {
  check_key(key);
  auto const stored = keys_.record(key);
  Reply const reply =
      co_await run_command(servers_, stored, command("GET", stored), reading, "get", deadline);
  co_return record_of(key, *reply);
}

asio::awaitable<std::expected<std::uint64_t, Conflict>> RedisRecordStore::put(RecordWrite write,
                                                                              Instant deadline) {
  check_key(write.key);
  check_value(write.value);
  auto const shard = shard_of(write.key);
  std::string identity;  // not on a cluster, where a call may be sent on to another server
  if (!servers_.are_cluster()) {
    auto& server = servers_.one();
    if (!server.is_ready()) co_await server.ready("put", deadline);
    identity = server.server().identity;
  }
  ScriptCall call(scripts::record_put, 3, 5);
  call.add(keys_.record(write.key)).add(keys_.counter(shard)).add(keys_.record_keys(shard));
  call.add(write.key).add(write.value).add(version_text(write.expected)).add(ms(write.ttl));
  call.add(identity);
  DurableWrites::Written written = co_await writes_.run(call, drawing, deadline);
  if (!written.confirmed) throw writes_.not_durable(written, Outcome::unknown, "put");
  Reply const reply = std::move(written.reply);
  if ((*reply)[0].integer() == 0) {
    Conflict conflict;
    conflict.current = record_of(write.key, (*reply)[1]);
    co_return std::unexpected(std::move(conflict));
  }
  std::uint64_t version = 0;
  auto const text = (*reply)[1].text();
  std::from_chars(text.data(), text.data() + text.size(), version);
  if (calls_for_sweep(version)) co_await sweep(shard, deadline);
  co_return version;
}

/// Keys of records that have ended by themselves.
asio::awaitable<void> RedisRecordStore::sweep(unsigned shard, Instant deadline) {
  auto const key_of = [this](std::string const& key) { return keys_.record(key); };
  try {
    auto& from = sweep_from_[shard];
    from = co_await sweep_names(servers_, keys_.record_keys(shard), key_of, from, deadline);
  } catch (EngineError const&) {
    co_return;  // the next one does it
  }
}

asio::awaitable<std::expected<bool, Conflict>> RedisRecordStore::erase(
    std::string key, std::optional<std::uint64_t> expected, Instant deadline) {
  check_key(key);
  ScriptCall call(scripts::record_erase, 2, 2);
  call.add(keys_.record(key)).add(keys_.record_keys(shard_of(key)));
  call.add(key).add(version_text(expected));
  DurableWrites::Written written = co_await writes_.run(call, writing, deadline);
  if (!written.confirmed) throw writes_.not_durable(written, Outcome::unknown, "erase");
  Reply const reply = std::move(written.reply);
  if ((*reply)[0].integer() == 0) {
    Conflict conflict;
    conflict.current = record_of(key, (*reply)[1]);
    co_return std::unexpected(std::move(conflict));
  }
  co_return (*reply)[1].integer() != 0;
}

asio::awaitable<void> RedisRecordStore::get_some(std::vector<std::string> const& keys,
                                                 Chunk const& which,
                                                 std::vector<std::optional<Record>>& records,
                                                 Instant deadline) {
  std::vector<std::string> stored;
  for (auto const i : which) stored.push_back(keys_.record(keys[i]));
  std::vector<std::string_view> words{"MGET"};
  words.insert(words.end(), stored.begin(), stored.end());
  Reply const reply =
      co_await run_command(servers_, stored.front(), command(words), reading, "list", deadline);
  for (std::size_t i = 0; i < which.size(); ++i) {
    records[which[i]] = record_of(keys[which[i]], (*reply)[i]);
  }
}

asio::awaitable<std::vector<std::optional<Record>>> RedisRecordStore::get_all(
    std::vector<std::string> keys, Instant deadline) {
  std::vector<std::optional<Record>> records(keys.size());
  std::vector<Chunk> const chunks = chunks_of(keys.size(), keys.size(), [&](std::size_t i) {
    return servers_.are_cluster() ? shard_of(keys[i]) : 0;
  });
  std::vector<asio::awaitable<void>> calls;
  calls.reserve(chunks.size());
  for (auto const& chunk : chunks) calls.push_back(get_some(keys, chunk, records, deadline));
  co_await together(std::move(calls));
  co_return records;
}

asio::awaitable<RecordPage> RedisRecordStore::list(std::string prefix, std::string cursor,
                                                   std::uint32_t limit, Instant deadline) {
  check_page_size(limit);
  RecordPage page;
  auto first = first_of_page(prefix, cursor);
  for (bool last = false; !last && page.records.size() <= limit;) {
    std::vector<std::string> lists = keys_.all_record_keys();
    NameBatch batch = co_await list_names(servers_, std::move(lists), prefix, std::move(first),
                                          limit + 1, deadline);
    auto const& names = batch.names;
    for (std::size_t at = 0; at < names.size() && page.records.size() <= limit;) {
      auto const end = std::min(at + records_at_once, names.size());
      std::vector<std::string> some(names.begin() + static_cast<std::ptrdiff_t>(at),
                                    names.begin() + static_cast<std::ptrdiff_t>(end));
      std::vector<std::optional<Record>> found = co_await get_all(std::move(some), deadline);
      for (auto& record : found) {
        if (record) page.records.push_back(std::move(*record));
      }
      at = end;
    }
    first = std::move(batch.next);
    last = batch.last;
  }
  if (page.records.size() > limit) {
    page.records.erase(page.records.begin() + limit, page.records.end());
    page.next = page.records.back().key;
  }
  co_return page;
}

asio::awaitable<std::int64_t> RedisRecordStore::add(std::string counter, std::int64_t step,
                                                    Instant deadline) {
  check_key(counter);
  auto const key = keys_.number(counter);
  auto increase = command("INCRBY", key, Digits(step));
  DurableWrites::Written written = co_await writes_.run(key, std::move(increase), "add", deadline);
  if (!written.confirmed) throw writes_.not_durable(written, Outcome::unknown, "add");
  Reply const reply = std::move(written.reply);
  co_return reply->integer();
}

}  // namespace holt::redis
