// SPDX-License-Identifier: Apache-2.0
#pragma once
// The native layout: which keys a name has, and what a lease's record says. scripts/line.lua tells
// what is in each key. A name belongs to one of 64 shards for ever, also on a single server:
// clients that counted differently would grant twice.

#include "engines/redis/script_call.hpp"

#include <holt/lease.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::redis {

inline constexpr unsigned shards = 64;

/// Of a name, or of its part in braces, as in `{deploy}:eu`: such names share a shard.
[[nodiscard]] unsigned shard_of(std::string_view name);

/// Of one of the keys below: what its hash tag says.
[[nodiscard]] unsigned shard_in(std::string_view key);

class Keys {
 public:
  static constexpr std::size_t of_a_name = 6;

  /// Who counts fences: on one server a counter for all names, so that one step draws those of
  /// many; on a cluster one in the slot of each shard.
  enum class Counting { together, by_shard };

  explicit Keys(std::string const& instance, Counting counting = Counting::together);

  /// lease, queue, until, ticket, counter, names: what scripts that change a lease are given.
  void add_all(std::string_view name, ScriptCall& call) const;
  void add_lease(std::string_view name, ScriptCall& call) const;
  void add_until(std::string_view name, ScriptCall& call) const;

  /// What the keys of a name's shard begin with: as long for each name.
  [[nodiscard]] std::string const& start_of(std::string_view name) const {
    return starts_[shard_of(name)];
  }
  [[nodiscard]] std::string lease(std::string_view name) const { return of(name, "l:"); }
  [[nodiscard]] std::string const& counter(unsigned shard) const { return counters_[shard]; }
  [[nodiscard]] std::string names(unsigned shard) const { return starts_[shard] + "i"; }
  [[nodiscard]] std::string record(std::string_view key) const { return of(key, "r:"); }
  [[nodiscard]] std::string record_keys(unsigned shard) const { return starts_[shard] + "k"; }
  [[nodiscard]] std::string number(std::string_view key) const { return of(key, "n:"); }

  /// Each once.
  [[nodiscard]] std::vector<std::string> all_counters() const;
  /// The same of every shard.
  [[nodiscard]] std::vector<std::string> all_names() const { return of_all("i"); }
  [[nodiscard]] std::vector<std::string> all_record_keys() const { return of_all("k"); }

  /// What the keys of a queue of tasks begin with: scripts/task_keys.lua tells them all.
  [[nodiscard]] std::string queue(std::string_view name) const;
  /// And before the name.
  [[nodiscard]] std::string queues_prefix() const { return prefix_ + "{q:"; }

  /// Whether a key of this instance is in one of its shards, and not in a queue.
  [[nodiscard]] bool is_in_shard(std::string_view key) const;
  /// What numbers are drawn from in the shard or the queue that this key is in.
  [[nodiscard]] static std::string counter_beside(std::string_view key);

  /// What every key of this instance begins with.
  [[nodiscard]] std::string shards_prefix() const { return prefix_ + "{"; }
  /// Whether one of them, lease or line, says something of a lease.
  [[nodiscard]] bool is_about_a_lease(std::string_view key) const;

  /// An inbox is added to it.
  [[nodiscard]] std::string const& inbox_channel() const { return inbox_channel_; }
  [[nodiscard]] std::string const& everybody_channel() const { return everybody_channel_; }

 private:
  [[nodiscard]] std::string of(std::string_view name, std::string_view kind) const;
  [[nodiscard]] std::vector<std::string> of_all(std::string_view rest) const;

  std::string prefix_;
  std::array<std::string, shards> starts_;  ///< of the keys of each shard
  std::array<std::string, shards> counters_;
  std::string inbox_channel_;
  std::string everybody_channel_;
};

/// What a lease's key says.
struct LeaseRecord {
  Owner owner;
  Fence fence;
  bool offered = false;
  std::int64_t ttl_ms = 0;
  std::int64_t delay_ms = 0;
  std::int64_t acquired_ms = 0;
  std::string_view note;
  std::string_view broken;
};

/// Nothing: somebody else wrote this. The texts are parts of `text`.
[[nodiscard]] std::optional<LeaseRecord> parse_record(std::string_view text);

}  // namespace holt::redis
