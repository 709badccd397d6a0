// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long a task waits whose command could not be started for a passing reason: no descriptors, no
// processes, a program that is being written. It doubles from failure to failure, and a start that
// succeeds ends that. Failures within a pause are one: they say nothing that was not known.
// Decides only; one thread at a time.

#include <holt/clock.hpp>

#include <algorithm>
#include <chrono>

namespace holt::cli {

class StartPause {
 public:
  static constexpr std::chrono::milliseconds shortest{100};
  static constexpr std::chrono::milliseconds longest{30'000};

  struct Failure {
    std::chrono::milliseconds pause;
    bool is_news;  ///< nobody was told of another lately
  };

  [[nodiscard]] Failure failed(Instant now) noexcept {
    if (now >= grows_at_) {
      pause_ = pause_.count() == 0 ? shortest : std::min(pause_ * 2, longest);
      grows_at_ = now + pause_;
    }
    bool const is_news = now >= quiet_until_;
    if (is_news) quiet_until_ = now + longest;
    return {.pause = pause_, .is_news = is_news};
  }

  void succeeded() noexcept {
    pause_ = {};
    grows_at_ = Instant();
  }

 private:
  std::chrono::milliseconds pause_{};
  Instant grows_at_;
  Instant quiet_until_;
};

}  // namespace holt::cli
