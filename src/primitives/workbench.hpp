// SPDX-License-Identifier: Apache-2.0
#pragma once
// Workbench: where a worker's loop lays out tasks, and runners (threads, or what the simulator has
// for them) take one after the other without asking the loop, so that a short task costs no trip
// through it. The loop is woken when it can do something about what has changed. Any thread.

#include "primitives/event.hpp"
#include "primitives/held_task.hpp"
#include "primitives/task_pace.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holt {

/// How an attempt ended.
struct TaskEnd {
  TaskEnd(std::shared_ptr<HeldTask> which, TaskOutcome how)
      : held(std::move(which)), outcome(how) {}
  std::shared_ptr<HeldTask> held;
  TaskOutcome outcome;
  Nanos delay{};
  std::string text;
};

class Workbench {
 public:
  Workbench(std::uint32_t handlers, Event wake) : handlers_(handlers), wake_(std::move(wake)) {}

  // For the loop:

  /// Tasks to be started, more urgent ones before others that lie here. Answers how many runners
  /// are to be started for them.
  [[nodiscard]] std::uint32_t lay_out(std::vector<std::shared_ptr<HeldTask>> const& tasks);
  /// So many runners could not be started.
  void runners_missing(std::uint32_t count);
  /// Takes away those not started that are `unwanted`, asked from the first to be started on; they
  /// count as ended, untouched.
  void clear_away(std::move_only_function<bool(HeldTask const&)> unwanted);
  [[nodiscard]] std::vector<TaskEnd> take_ended();
  [[nodiscard]] pace::Load load() const;
  [[nodiscard]] std::optional<Nanos> typical() const;
  [[nodiscard]] std::size_t ended() const;
  /// When the first of those that were started since the last time has to be done.
  [[nodiscard]] Instant take_next_due();

  /// What the loop wants to be woken for.
  struct Alarm {
    std::ptrdiff_t few = -1;  ///< no more than so many are left to start
    std::size_t many = 0;     ///< so many have ended; 0: never
    bool first = false;       ///< one has ended, and none had before
    Instant look_at;          ///< when it looks by itself: a timeout before that
  };
  void set_alarm(Alarm alarm);

  // For runners:

  /// The next to be done. Nothing: none is left, and the runner is not counted any more.
  [[nodiscard]] std::shared_ptr<HeldTask> take(Instant now);
  /// What became of it, and how long it took.
  void done(TaskEnd end, Nanos took);

 private:
  [[nodiscard]] bool alarming() const;  // with the mutex held

  std::uint32_t const handlers_;
  Event wake_;
  std::mutex mutable mutex_;
  std::deque<std::shared_ptr<HeldTask>> ready_;
  std::vector<TaskEnd> ended_;
  std::uint32_t runners_ = 0;
  std::uint32_t busy_ = 0;
  std::optional<Nanos> typical_;
  Instant next_due_ = Instant::max();
  Alarm alarm_;
};

}  // namespace holt
