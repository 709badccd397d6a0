// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskSweeper: has the space of tasks that were taken freed. A task's row is dead when it is
// claimed, and its claim when it is forgotten, but only a VACUUM gives their space back. The
// server's own comes once a minute, in which a busy queue takes millions: its tables would grow to
// that, and looking for what is next in them would take ever longer. So whoever has taken many
// tasks has their tables cleaned, on a connection beside the others. Only the owner of the tables
// may; where the role is another, the server refuses with a warning, and its own vacuum is left.
// On Env::executor().

#include "contracts/env.hpp"
#include "engines/postgres/place.hpp"
#include "engines/postgres/pool.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace holt::postgres {

class TaskSweeper {
 public:
  /// The pool has one connection and is closed before this goes.
  TaskSweeper(Env& env, Pool& pool, Place const& place);

  /// So many more were taken: time for a sweep, perhaps. `rested`: there were no more, so that it
  /// is in nobody's way now.
  void taken(std::size_t tasks, bool rested);

 private:
  asio::awaitable<void> sweep();

  Env& env_;
  Pool& pool_;
  std::vector<Statement> statements_;
  std::size_t taken_;
  Instant began_;  ///< the last sweep
  Instant ended_;
  std::chrono::nanoseconds took_{};
  bool sweeping_ = false;
};

}  // namespace holt::postgres
