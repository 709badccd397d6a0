// SPDX-License-Identifier: Apache-2.0
#include "base/request_series.hpp"

#include "base/random_text.hpp"

namespace holt {
namespace {

/// Who forgets a queue begins a new series for it.
constexpr std::size_t most_queues = 1000;
constexpr std::chrono::milliseconds lifetime{128};

}  // namespace

RequestId RequestSeries::next(std::string_view queue, Instant now,
                              std::chrono::system_clock::time_point wall,
                              std::function<std::uint64_t()> const& random) {
  std::scoped_lock const lock(mutex_);
  auto found = by_queue_.find(queue);
  if (found == by_queue_.end()) {
    if (by_queue_.size() >= most_queues) by_queue_.clear();
    found = by_queue_.emplace(queue, Series()).first;
  }
  auto& series = found->second;
  if (series.name.empty() || now >= series.until) {
    series = Series{timed_token(wall, random), now + lifetime, 0};
  }
  RequestId id(series.name, ++series.used);
  id.fresh = true;
  return id;
}

}  // namespace holt
