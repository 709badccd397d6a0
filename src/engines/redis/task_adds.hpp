// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskStore::add on Redis. What several callers add to one queue in one turn of the loop, or while
// such a call is on its way, is one call of scripts/task_add.lua, which answers each for itself.
// One call takes all that the contract allows in one add, so that it is atomic: 20,000 tasks keep
// the server for some 20 ms.
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
#include <string>
#include <vector>

namespace holt::redis {

/// One caller's part of a call.
class AddWords {
 public:
  AddWords(AddRequest const& request, std::int64_t wall_ms);

  [[nodiscard]] std::vector<std::string> const& words() const { return words_; }
  [[nodiscard]] std::string const& request() const { return request_; }
  [[nodiscard]] std::size_t tasks() const { return tasks_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::vector<std::string> words_;
  std::string request_;
  std::size_t tasks_;
  std::size_t bytes_ = 0;
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
