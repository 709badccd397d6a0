// SPDX-License-Identifier: Apache-2.0
#pragma once
// Env is where time, chance and threads come from: the only source of each for all other code.
// RealEnv (src/env) is the machine; SimEnv (tests/sim) is virtual time and a seeded generator.
// It is handed to constructors, never global, so that two simulated nodes may disagree about time.

#include <holt/clock.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace holt {

namespace asio = boost::asio;

class Env {
 public:
  using Task = std::move_only_function<void()>;
  using TimerId = std::uint64_t;

  virtual ~Env() = default;

  /// The local clock of deadlines. Any thread.
  [[nodiscard]] virtual Instant now() const = 0;

  /// The time of day, for people and schedules; never for a lease. Any thread.
  [[nodiscard]] virtual std::chrono::system_clock::time_point wall() const = 0;

  /// 64 unpredictable bits. Any thread.
  virtual std::uint64_t random() = 0;

  /// Names this boot of this machine: leases of another boot are void.
  [[nodiscard]] virtual std::string boot_id() const = 0;

  /// Runs `task` on executor() at `when`, at once if that has passed. Any thread.
  virtual TimerId call_at(Instant when, Task task) = 0;

  /// Forgets a timer. Its task may be running already, so it must bear coming late. Any thread.
  virtual void cancel(TimerId timer) = 0;

  /// The one thread that runs loops and receives signals. Nothing on it may block.
  [[nodiscard]] virtual asio::any_io_executor executor() = 0;

  /// Where loops send work that blocks (SQLite, DNS). The simulator's is executor() itself.
  [[nodiscard]] virtual asio::any_io_executor blocking() = 0;

  /// Runs the user's code: in order while each is quick, and never on executor(). Any thread.
  virtual void call_user(Task task) = 0;
};

}  // namespace holt
