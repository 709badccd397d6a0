// SPDX-License-Identifier: Apache-2.0
#pragma once
// RealEnv: the machine. One I/O thread, one timerfd on CLOCK_BOOTTIME for all timers (steady
// clocks stop while a machine sleeps; leases do not), the kernel's randomness, a thread for
// blocking work and one for the user's callbacks, both started when first needed.

#include "contracts/env.hpp"
#include "env/user_thread.hpp"
#include "env/worker_thread.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace holt {

class RealEnv final : public Env {
 public:
  /// Starts the I/O thread. Throws std::system_error when there are no descriptors or threads.
  RealEnv();
  /// Ends its threads. Timers that are left never run. Not from one of its own threads.
  ~RealEnv() override;

  [[nodiscard]] Instant now() const override;
  [[nodiscard]] std::chrono::system_clock::time_point wall() const override;
  std::uint64_t random() override;
  [[nodiscard]] std::string boot_id() const override;
  TimerId call_at(Instant when, Task task) override;
  void cancel(TimerId timer) override;
  [[nodiscard]] asio::any_io_executor executor() override { return io_.get_executor(); }
  [[nodiscard]] asio::any_io_executor blocking() override;
  void call_user(Task task) override;

 private:
  struct Loop;  // an io_context with its own thread

  void wait_for_timer();
  void run_due_timers();
  void arm(Instant when);

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::posix::stream_descriptor timer_;
  std::mutex mutex_;
  TimerId next_id_ = 1;
  std::map<std::pair<Instant, TimerId>, Task> timers_;
  std::map<TimerId, Instant> times_;
  std::mutex random_mutex_;
  std::array<std::uint64_t, 64> random_{};
  std::size_t random_left_ = 0;
  std::mutex blocking_mutex_;
  std::unique_ptr<Loop> blocking_;
  UserThread user_;
  std::optional<WorkerThread> thread_;
};

}  // namespace holt
