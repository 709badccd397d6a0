// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a worker of `holt demo` says to the stage. Any thread.

#include <holt/clock.hpp>

#include <string>

namespace holt::cli {

inline constexpr int demo_socket = 3;  ///< its number in the worker

[[nodiscard]] std::string text_of(Instant time);
void say_to_stage(std::string const& message) noexcept;

}  // namespace holt::cli
