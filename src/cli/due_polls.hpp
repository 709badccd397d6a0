// SPDX-License-Identifier: Apache-2.0
#pragma once
// Waits, on a thread of its own, for endpoints that are due, as many at a time as there is room
// for, and wakes the thread that runs their commands.

#include <holt/polling.hpp>

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
  /// `wake` is an eventfd, written to when there is something to take, and after stop(). The
  /// thread inherits the signals that are blocked here.
  DuePolls(Polling& polling, std::size_t room, int wake);
  ~DuePolls();
  DuePolls(DuePolls const&) = delete;
  DuePolls& operator=(DuePolls const&) = delete;

  /// The next one, if there is one. Throws what the wait for it has thrown.
  [[nodiscard]] std::optional<Poll> take();

  /// One that was taken has ended: there is room for another.
  void make_room() { room_.release(); }

  /// No more is waited for; what is due already can still be taken. Does not wait.
  void stop() noexcept;

 private:
  void wait_for_all() noexcept;

  Polling& polling_;
  int const wake_;
  std::counting_semaphore<> room_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::deque<Poll> due_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace holt::cli
