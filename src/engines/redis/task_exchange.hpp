// SPDX-License-Identifier: Apache-2.0
#pragma once
// One exchange with a queue as a call of scripts/task_exchange.lua, and what comes of it. No I/O.

#include "contracts/task_store.hpp"
#include "engines/redis/queue_calls.hpp"
#include "engines/redis/reply.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace holt::redis {

/// The request lives as long as this.
class TaskExchange {
 public:
  explicit TaskExchange(ClaimRequest const& request);

  [[nodiscard]] ScriptCall call(QueueCalls const& calls, std::string_view identity) const;
  [[nodiscard]] Claimed claimed(ReplyView const& answer) const;

 private:
  using Which = std::vector<std::size_t>;
  /// What is handed in to one claim, by index: completed without a result, untouched, and all
  /// others; the first two in the order of their numbers.
  struct Group {
    TaskFinish const* first;
    Which plain;
    Which untouched;
    Which others;
  };
  [[nodiscard]] Group& group_of(TaskFinish const& finish);
  [[nodiscard]] std::size_t words() const;
  [[nodiscard]] std::string ranges_of(Which const& which) const;
  void add_group(Group const& group, ScriptCall& call) const;
  void tell_finishes(std::string_view letters, Claimed& claimed) const;

  ClaimRequest const& request_;
  std::vector<Group> groups_;
};

}  // namespace holt::redis
