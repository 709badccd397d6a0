// SPDX-License-Identifier: Apache-2.0
#pragma once
// RequestSeries: fresh request ids of one client. Those for one queue are consecutive numbers of a
// series for an eighth of a second; then a new series begins, which has the time in front: a store
// keeps what it knows of them by that, and forgets it together. Any thread.

#include "base/request_id.hpp"

#include <holt/clock.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace holt {

class RequestSeries {
 public:
  /// `wall` is for the name alone: what the wall clock does changes nothing else.
  [[nodiscard]] RequestId next(std::string_view queue, Instant now,
                               std::chrono::system_clock::time_point wall,
                               std::function<std::uint64_t()> const& random);

 private:
  struct Series {
    std::string name;
    Instant until;
    std::uint64_t used = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Series, std::less<>> by_queue_;  ///< guarded
};

}  // namespace holt
