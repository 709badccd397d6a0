// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long to pause before trying again. Pure: chance comes in as a number.

#include <holt/retry.hpp>

#include <chrono>
#include <cstdint>

namespace holt::backoff {

/// The pause after the failed try `tries` (1 is the first). `random` is uniform over its range.
[[nodiscard]] std::chrono::nanoseconds pause(RetryOptions const& options, std::uint32_t tries,
                                             std::uint64_t random) noexcept;

}  // namespace holt::backoff
