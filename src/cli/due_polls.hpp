// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thread of its own for a polling's calls that block: it waits for endpoints that are due, as
// many at a time as there is room for, stops the polling in the end, and wakes the thread that runs
// the commands, which must not be kept from seeing to them.

#include <holt/polling.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <semaphore>
#include <stop_token>
#include <thread>

namespace holt::cli {

class DuePolls {
 public:
  /// `wake` is an eventfd, written to when there is something to take, and when the polling has
  /// stopped. The thread inherits the signals that are blocked here.
  DuePolls(Polling& polling, std::size_t room, int wake);
  /// Stops, without time to hand over if stop() was not called before.
  ~DuePolls();
  DuePolls(DuePolls const&) = delete;
  DuePolls& operator=(DuePolls const&) = delete;

  /// The next one, if there is one. Throws what the wait for it has thrown.
  [[nodiscard]] std::optional<Poll> take();

  /// One that was taken has ended: there is room for another.
  void make_room() { room_.release(); }

  /// No more is waited for, and the polling is stopped; what is due already has to be taken, or
  /// that takes all of `patience`. Does not wait.
  void stop(std::chrono::milliseconds patience) noexcept;
  [[nodiscard]] bool has_stopped() const noexcept { return stopped_; }

 private:
  void wait_for_all() noexcept;
  void wait_for_one();
  void hand_over() noexcept;

  Polling& polling_;
  int const wake_;
  std::counting_semaphore<> room_;
  std::stop_source stop_;
  std::atomic<std::chrono::milliseconds> patience_{std::chrono::milliseconds(0)};
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::deque<Poll> due_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace holt::cli
