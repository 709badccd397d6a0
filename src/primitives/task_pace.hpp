// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pace of a worker, as pure functions: when a failed task is tried again, how many tasks to ask
// for, when to let go of those that were not started. Chance comes in as a number.

#include <holt/queue.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace holt::pace {

using Nanos = std::chrono::nanoseconds;

/// How long the `failures`-th failure (1 is the first) waits. `random` is uniform over its range.
[[nodiscard]] Nanos retry_delay(RetryPolicy const& policy, std::uint32_t failures,
                                std::uint64_t random) noexcept;

/// Where a worker stands when it asks for tasks.
struct Load {
  std::uint32_t handlers = 0;  ///< at a time, at most
  std::uint32_t busy = 0;      ///< of them
  std::size_t ready = 0;       ///< tasks that are here and were not started
  std::size_t asked = 0;       ///< tasks that are asked for and have not come
};

/// How many tasks to take beyond those that can be started at once: as many as all handlers do in
/// about 20 ms, and never more than they do in a quarter of the ttl. None while `typical`, the time
/// that one takes, is not known.
[[nodiscard]] std::uint32_t tasks_ahead(std::optional<Nanos> typical, std::uint32_t handlers,
                                        Nanos ttl, std::uint32_t most) noexcept;

/// How many tasks to ask for now: enough for idle handlers and to be `ahead`, once half of that is
/// used up; 0: not yet. One at a time while it is not known how long a task takes: who asks for
/// many of unknown length keeps others from them.
[[nodiscard]] std::uint32_t to_ask(Load const& load, std::uint32_t ahead, bool known) noexcept;

/// Tasks that were not started within this time of their claim go back: the handlers are busy with
/// longer ones than we thought.
[[nodiscard]] constexpr Nanos hold_at_most(Nanos ttl) { return ttl / 4; }

/// Whether tasks that were not started should go back now, because others idle. Not when our own
/// handlers will have come to the last of them sooner than others could.
[[nodiscard]] bool worth_giving_back(std::size_t ready, std::optional<Nanos> typical,
                                     std::uint32_t handlers) noexcept;

/// When an idle worker asks again that was told to by then: a little later, each for itself.
[[nodiscard]] Nanos ask_pause(Nanos told, std::uint64_t random) noexcept;

/// What one more run does to what is known of the time that a task takes.
[[nodiscard]] constexpr Nanos typical_with(std::optional<Nanos> before, Nanos took) {
  took = std::max(took, Nanos(1));
  return before ? std::max(*before + (took - *before) / 8, Nanos(1)) : took;
}

}  // namespace holt::pace
