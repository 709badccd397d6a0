// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a worker works where its program does not say: from the environment, else as usual. All throw
// InvalidArgument for what cannot be, naming the variable if it came from there.

#include <chrono>
#include <cstdint>

namespace holt::client {

/// HOLT_QUEUE_WORKERS, else 5; 1 to 1000.
[[nodiscard]] std::uint32_t queue_workers(std::uint32_t given);
/// HOLT_QUEUE_LOCK_DURATION, else 10 s; 1 s to 24 h.
[[nodiscard]] std::chrono::milliseconds queue_lock_duration(std::chrono::milliseconds given);
/// HOLT_QUEUE_POLL_INTERVAL, else 1 s; 10 ms to 1 h.
[[nodiscard]] std::chrono::milliseconds queue_poll_interval(std::chrono::milliseconds given);

}  // namespace holt::client
