// SPDX-License-Identifier: Apache-2.0
#pragma once
// What this client's last claim on a queue saw: how far it took tasks of each lane and priority,
// and the server's time. The next one looks behind that first, so that rows which are dead, but
// which somebody's old snapshot keeps from being removed, are not read again and again. What comes
// into a place before the mark (a late commit, a task given back by another) is seen when the marks
// are dropped: every 200 ms, and by the server itself when it would answer fewer tasks than are
// wanted.

#include <holt/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace holt::postgres {

struct TaskMarks {
  static constexpr std::chrono::milliseconds lifetime{200};

  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> numbers;  ///< lane and priority
  std::int64_t since_us = 0;
  Instant until;        ///< dropped then
  std::size_t got = 0;  ///< how many tasks came the last time

  /// The next claim looks everywhere.
  void drop() {
    numbers.clear();
    since_us = 0;
    until = Instant();
  }
  /// What one claim has seen after another: both ends move on only.
  void move_on(TaskMarks const& seen) {
    since_us = std::max(since_us, seen.since_us);
    for (auto const& [place, number] : seen.numbers) {
      auto& mark = numbers[place];
      mark = std::max(mark, number);
    }
  }
};

}  // namespace holt::postgres
