// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/layout.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <charconv>

namespace holt::redis {
namespace {

// No time in a record is later: it can be counted in nanoseconds, until the year 2262.
constexpr std::uint64_t latest_ms = 9'223'372'036'854;

}  // namespace

unsigned shard_of(std::string_view name) {
  auto hashed = name;
  auto const open = name.find('{');
  if (open != std::string_view::npos) {
    auto const close = name.find('}', open);
    if (close != std::string_view::npos && close > open + 1) {
      hashed = name.substr(open + 1, close - open - 1);
    }
  }
  return static_cast<unsigned>(XXH64(hashed.data(), hashed.size(), 0) % shards);
}

unsigned shard_in(std::string_view key) {
  unsigned shard = 0;
  auto const open = key.find('{');
  if (open == std::string_view::npos) return shard;
  std::from_chars(key.data() + open + 1, key.data() + key.size(), shard, 16);
  return shard % shards;
}

Keys::Keys(std::string const& instance, Counting counting)
    : prefix_(fmt::format("holt:{}:", instance)),
      inbox_channel_(prefix_ + "inbox:"),
      everybody_channel_(prefix_ + "everybody") {
  for (unsigned shard = 0; shard < shards; ++shard) {
    starts_[shard] = fmt::format("{}{{{:02x}}}:", prefix_, shard);
    counters_[shard] = (counting == Counting::by_shard ? starts_[shard] : prefix_ + "{all}:") + "c";
  }
}

std::string Keys::of(std::string_view name, std::string_view kind) const {
  return std::string(starts_[shard_of(name)]).append(kind).append(name);
}

std::vector<std::string> Keys::of_all(std::string_view rest) const {
  std::vector<std::string> keys;
  keys.reserve(shards);
  for (auto const& start : starts_) keys.push_back(std::string(start).append(rest));
  return keys;
}

std::vector<std::string> Keys::all_counters() const {
  if (counters_.front() == counters_.back()) return {counters_.front()};
  return {counters_.begin(), counters_.end()};
}

void Keys::add_all(std::string_view name, ScriptCall& call) const {
  auto const shard = shard_of(name);
  auto const& start = starts_[shard];
  for (std::string_view const kind : {"l:", "q:", "u:", "t:"}) call.add(start, kind, name);
  call.add(counters_[shard]).add(start, "i");
}

void Keys::add_lease(std::string_view name, ScriptCall& call) const {
  call.add(starts_[shard_of(name)], "l:", name);
}

void Keys::add_until(std::string_view name, ScriptCall& call) const {
  call.add(starts_[shard_of(name)], "u:", name);
}

std::string Keys::queue(std::string_view name) const {
  return queues_prefix().append(name).append("}:");
}

bool Keys::is_in_shard(std::string_view key) const {
  constexpr std::size_t digits = 2;
  auto const at = prefix_.size() + 1 + digits;
  return key.starts_with(shards_prefix()) && key.size() > at && key[at] == '}';
}

std::string Keys::counter_beside(std::string_view key) {
  return std::string(key.substr(0, key.find("}:") + 2)).append("c");
}

bool Keys::is_about_a_lease(std::string_view key) const {
  constexpr std::string_view shard = "{00}:";
  if (!key.starts_with(prefix_) || key.size() < prefix_.size() + shard.size() + 2) return false;
  auto const rest = key.substr(prefix_.size() + shard.size());
  return rest.starts_with("l:") || rest.starts_with("q:");
}

std::optional<LeaseRecord> parse_record(std::string_view text) {
  auto const line_end = text.find('\n');
  if (line_end == std::string_view::npos) return std::nullopt;
  auto const head = text.substr(0, line_end);
  auto const space = head.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  auto owner = Owner::parse(head.substr(0, space));
  if (!owner) return std::nullopt;
  enum Field { fence, state, ttl, delay, acquired, request, broken, count };
  std::array<std::uint64_t, count> fields{};
  auto const* at = head.data() + space;
  auto const* const end = head.data() + head.size();
  for (auto& field : fields) {
    if (at == end || *at != ' ') return std::nullopt;
    auto const [next, error] = std::from_chars(at + 1, end, field);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  auto const rest = text.substr(line_end + 1);
  // One by one: damaged numbers may be so large that their sum is small again.
  if (at != end || fields[request] > rest.size()) return std::nullopt;
  if (fields[broken] > rest.size() - fields[request]) return std::nullopt;
  if (fields[state] > 1) return std::nullopt;
  for (auto const time : {ttl, delay, acquired}) {
    if (fields[time] > latest_ms) return std::nullopt;
  }
  LeaseRecord record;
  record.owner = std::move(*owner);
  record.fence = Fence(fields[fence]);
  record.offered = fields[state] == 1;
  record.ttl_ms = static_cast<std::int64_t>(fields[ttl]);
  record.delay_ms = static_cast<std::int64_t>(fields[delay]);
  record.acquired_ms = static_cast<std::int64_t>(fields[acquired]);
  record.broken = rest.substr(fields[request], fields[broken]);
  record.note = rest.substr(fields[request] + fields[broken]);
  return record;
}

}  // namespace holt::redis
