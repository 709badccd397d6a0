// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskStore::add on Redis. What several callers add to one queue in one turn of the loop, or while
// such a call is on its way, is one call of scripts/task_add.lua, which answers each for itself.
// One call takes all that the contract allows in one add, so that it is atomic.
// On Env::executor().

#include "contracts/env.hpp"
#include "contracts/task_store.hpp"
#include "engines/redis/queue_calls.hpp"

#include <boost/asio/awaitable.hpp>

#include <exception>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holt::redis {

/// So that a shared call does not keep the server, nor the callers, for long.
inline constexpr std::size_t callers_per_call = 64;

/// The words of a call, for one caller after the other.
class AddWords {
 public:
  explicit AddWords(std::int64_t wall_ms) : wall_ms_(wall_ms) {}

  /// The caller's request lives as long as this.
  void add(AddRequest const& request);

  /// All that was added, as words.
  [[nodiscard]] std::vector<std::string> const& words() {
    end_group();
    return words_;
  }
  /// Of each group that has requests what they begin with, for QueueCalls::requests_key.
  [[nodiscard]] std::vector<std::string_view> const& request_starts() const {
    return request_starts_;
  }
  /// How many callers are in each group; they are answered in their order.
  [[nodiscard]] std::vector<std::size_t> const& groups() const { return groups_; }
  [[nodiscard]] std::size_t tasks() const { return tasks_; }
  /// Whether there are tasks that cannot be packed.
  [[nodiscard]] bool special() const { return special_; }

 private:
  using Tasks = std::span<NewTask const>;
  [[nodiscard]] bool joins_group(AddRequest const& request) const;
  void add_again(AddRequest const& request);
  void end_group();
  void add_pack_run(Tasks run);
  void add_run(Tasks run);

  std::int64_t wall_ms_;
  std::vector<std::string> words_;
  std::vector<std::string_view> request_starts_;
  std::vector<std::size_t> groups_;
  std::size_t tasks_ = 0;
  bool special_ = false;
  /// Who came for the first time with one task each, the last group so far; empty: it is another.
  std::vector<AddRequest const*> group_;
};

class TaskAdds {
 public:
  TaskAdds(Env& env, QueueCalls& calls);

  asio::awaitable<std::vector<Added>> add(AddRequest request, Instant deadline);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::redis
