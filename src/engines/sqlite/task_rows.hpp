// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskRows: the tables of tasks, as single statements with their types, for one step on one queue.
// No decisions. Used inside a transaction; the clocks are read once.

#include "contracts/env.hpp"
#include "contracts/task_store.hpp"
#include "engines/sqlite/connection.hpp"
#include "engines/sqlite/task_record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sqlite {

struct Lane {
  std::int64_t id = 0;
  std::string kind;
};

/// A row of `claim`; the record of each task is packed.
struct ClaimRow {
  std::string owner;
  std::uint64_t fence = 0;
  std::int64_t until_ns = 0;
  std::int64_t forget_ns = 0;
  std::int64_t claimed_ms = 0;
  std::int64_t made = 0;
  bool answered = false;
  std::string worker;
  std::string answers;
  std::vector<std::string> tasks;
};

class TaskRows {
 public:
  TaskRows(Connection& store, Env& env, std::string_view instance);

  [[nodiscard]] Connection& store() const noexcept { return store_; }
  [[nodiscard]] std::int64_t now_ns() const noexcept { return now_ns_; }
  [[nodiscard]] std::int64_t wall_ms() const noexcept { return wall_us_ / 1000; }

  /// From here on everything is about this queue. False: there is none.
  bool find_queue(std::string_view name);
  /// Makes it if need be.
  void use_queue(std::string_view name);
  [[nodiscard]] std::int64_t queue() const noexcept { return queue_; }
  std::vector<Lane> lanes();
  std::int64_t make_lane(std::string_view kind);

  /// The first of `count` new numbers.
  std::uint64_t draw_numbers(std::uint64_t count);
  std::uint64_t draw_fence();
  /// By 2^32: above all that could have been drawn and forgotten.
  void raise_counters();

  void put_ready(TaskRecord const& task, std::string_view packed);
  void put_waiting(TaskRecord const& task, std::int64_t run_at_ms, bool tried);
  void put_body(std::uint64_t number, std::string_view payload);
  void drop_body(std::uint64_t number);
  /// The payload of a task, wherever it is.
  std::string payload_of(TaskRecord& task);

  std::optional<ClaimRow> claim(std::string_view owner);
  std::vector<ClaimRow> claims();
  /// Stores what is left of a claim, which may be nothing.
  void keep(ClaimRow const& claim);

  /// Takes a unique key for a task if it is free; else answers who has it.
  std::optional<std::uint64_t> take_key(std::string_view key, std::uint64_t number,
                                        std::optional<std::int64_t> until_ms = {});
  void drop_key(std::string_view key, std::uint64_t number);

 private:
  Connection& store_;
  std::string_view instance_;
  std::int64_t now_ns_;
  std::int64_t wall_us_;
  std::int64_t queue_ = 0;
};

/// Packed records in a row, each with its length.
[[nodiscard]] std::string join(std::vector<std::string> const& records);
[[nodiscard]] std::vector<std::string> split(std::string_view joined);

}  // namespace holt::sqlite
