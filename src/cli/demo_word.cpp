// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_word.hpp"

#include <holt/clock.hpp>

#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>

namespace holt::cli {

std::string text_of(Instant time) { return std::to_string(time.time_since_epoch().count()); }

void say_to_stage(std::string const& message) noexcept {
  static_cast<void>(::send(demo_socket, message.data(), message.size(), MSG_NOSIGNAL));
}

void be_busy(std::chrono::milliseconds time, std::stop_token const& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace holt::cli
