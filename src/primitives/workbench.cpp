// SPDX-License-Identifier: Apache-2.0
#include "primitives/workbench.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <iterator>

namespace holt {

std::uint32_t Workbench::lay_out(std::vector<std::shared_ptr<HeldTask>> const& tasks) {
  std::scoped_lock const lock(mutex_);
  for (auto const& task : tasks) {
    auto place = ready_.end();
    while (place != ready_.begin() &&
           (*std::prev(place))->task().priority > task->task().priority) {
      --place;
    }
    ready_.insert(place, task);
  }
  // A runner that is between two tasks will take one: it needs no other beside it.
  auto const free = runners_ - busy_;
  auto const useful = ready_.size() > free ? ready_.size() - free : 0;
  auto const more = static_cast<std::uint32_t>(std::min<std::size_t>(useful, handlers_ - runners_));
  runners_ += more;
  return more;
}

void Workbench::runners_missing(std::uint32_t count) {
  std::scoped_lock const lock(mutex_);
  HOLT_CHECK(count <= runners_);
  runners_ -= count;
}

void Workbench::clear_away(std::move_only_function<bool(HeldTask const&)> unwanted) {
  std::scoped_lock const lock(mutex_);
  std::deque<std::shared_ptr<HeldTask>> kept;
  for (auto& task : ready_) {
    if (!unwanted(*task)) {
      kept.push_back(std::move(task));
      continue;
    }
    task->end();
    ended_.emplace_back(std::move(task), TaskOutcome::untouched);
  }
  ready_ = std::move(kept);
}

std::vector<TaskEnd> Workbench::take_ended() {
  std::scoped_lock const lock(mutex_);
  return std::exchange(ended_, {});
}

pace::Load Workbench::load() const {
  std::scoped_lock const lock(mutex_);
  return {handlers_, busy_, ready_.size(), 0};
}

std::optional<Nanos> Workbench::typical() const {
  std::scoped_lock const lock(mutex_);
  return typical_;
}

std::size_t Workbench::ended() const {
  std::scoped_lock const lock(mutex_);
  return ended_.size();
}

Instant Workbench::take_next_due() {
  std::scoped_lock const lock(mutex_);
  return std::exchange(next_due_, Instant::max());
}

void Workbench::set_alarm(Alarm alarm) {
  bool now = false;
  {
    std::scoped_lock const lock(mutex_);
    alarm_ = alarm;
    now = !ended_.empty() && alarming();  // it came since the loop looked
  }
  if (now) wake_.set();
}

bool Workbench::alarming() const {
  return std::ssize(ready_) <= alarm_.few || (alarm_.many > 0 && ended_.size() >= alarm_.many) ||
         (alarm_.first && ended_.size() == 1);
}

std::shared_ptr<HeldTask> Workbench::take(Instant now) {
  std::shared_ptr<HeldTask> next;
  bool wake = false;
  {
    std::scoped_lock const lock(mutex_);
    while (!ready_.empty() && !next) {
      next = std::move(ready_.front());
      ready_.pop_front();
      if (next->claim().held(now)) break;
      next->end();
      ended_.emplace_back(std::move(next), TaskOutcome::untouched);
      next = nullptr;
      wake = true;
    }
    if (next) {
      ++busy_;
      next->begin(now);
      next_due_ = std::min(next_due_, next->due());
      wake = wake || next_due_ < alarm_.look_at;
    } else {
      --runners_;
    }
  }
  if (wake) wake_.set();
  return next;
}

void Workbench::done(TaskEnd end, Nanos took) {
  bool wake = false;
  {
    std::scoped_lock const lock(mutex_);
    --busy_;
    typical_ = pace::typical_with(typical_, took);
    end.held->end();
    ended_.push_back(std::move(end));
    wake = alarming();
  }
  if (wake) wake_.set();
}

}  // namespace holt
