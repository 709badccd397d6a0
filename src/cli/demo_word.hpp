// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a worker of `holt demo` says to the stage, and how it seems to be busy. Any thread.

#include <holt/clock.hpp>

#include <chrono>
#include <stop_token>
#include <string>

namespace holt::cli {

inline constexpr int demo_socket = 3;  ///< its number in the worker

[[nodiscard]] std::string text_of(Instant time);
void say_to_stage(std::string const& message) noexcept;
/// As long as something takes, or until it is told to stop.
void be_busy(std::chrono::milliseconds time, std::stop_token const& stop);

}  // namespace holt::cli
