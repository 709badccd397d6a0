// SPDX-License-Identifier: Apache-2.0
#include "env/real_env.hpp"

#include "env/clock.hpp"

#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <vector>

namespace holt {
namespace {

int make_timer() {
  int const fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "cannot make a timer");
  return fd;
}

}  // namespace

struct RealEnv::Loop {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  WorkerThread thread{"holt-blocking", [this] { io.run(); }};

  ~Loop() { work.reset(); }
};

RealEnv::RealEnv() : work_(io_.get_executor()), timer_(io_, make_timer()) {
  wait_for_timer();
  thread_.emplace("holt-io", [this] { io_.run(); });
}

RealEnv::~RealEnv() {
  {
    std::scoped_lock const lock(blocking_mutex_);
    blocking_.reset();
  }
  io_.stop();
  thread_.reset();
}

Instant RealEnv::now() const { return BootClock::now(); }

std::chrono::system_clock::time_point RealEnv::wall() const {
  return std::chrono::system_clock::now();
}

/// Asks the kernel for many at once. A forked child does not use this Env (it has no threads
/// there), so it never draws what its parent is about to.
std::uint64_t RealEnv::random() {
  std::scoped_lock const lock(random_mutex_);
  if (random_left_ == 0) {
    auto const got = ::getrandom(random_.data(), sizeof random_, 0);
    if (got != sizeof random_) {
      throw std::system_error(errno, std::generic_category(), "no randomness from the kernel");
    }
    random_left_ = random_.size();
  }
  return random_[--random_left_];
}

std::string RealEnv::boot_id() const {
  std::array<char, 37> text{};
  std::FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot read the boot id in /proc");
  }
  auto const length = std::fread(text.data(), 1, 36, file);
  std::fclose(file);
  return {text.data(), length};
}

Env::TimerId RealEnv::call_at(Instant when, Task task) {
  std::scoped_lock const lock(mutex_);
  auto const id = next_id_++;
  auto const earliest = timers_.empty() || when < timers_.begin()->first.first;
  timers_.emplace(std::pair(when, id), std::move(task));
  times_.emplace(id, when);
  if (earliest) arm(when);
  return id;
}

void RealEnv::cancel(TimerId timer) {
  Task dropped;  // destroyed after the lock: it may own anything
  std::scoped_lock const lock(mutex_);
  auto const found = times_.find(timer);
  if (found == times_.end()) return;
  auto const entry = timers_.find({found->second, timer});
  dropped = std::move(entry->second);
  timers_.erase(entry);
  times_.erase(found);
}

/// The kernel keeps one absolute time; firing early after a cancel only costs a look.
void RealEnv::arm(Instant when) {
  auto const raw =
      std::max<Instant::rep>((when.time_since_epoch() + boot_clock_shift()).count(), 1);
  itimerspec spec{};
  spec.it_value.tv_sec = raw / 1'000'000'000;
  spec.it_value.tv_nsec = raw % 1'000'000'000;
  ::timerfd_settime(timer_.native_handle(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void RealEnv::wait_for_timer() {
  timer_.async_wait(asio::posix::descriptor_base::wait_read,
                    [this](boost::system::error_code error) {
                      if (error) return;
                      run_due_timers();
                      wait_for_timer();
                    });
}

void RealEnv::run_due_timers() {
  std::uint64_t fired = 0;
  [[maybe_unused]] auto const got = ::read(timer_.native_handle(), &fired, sizeof fired);
  std::vector<Task> due;
  {
    std::scoped_lock const lock(mutex_);
    auto const time = now();
    while (!timers_.empty() && timers_.begin()->first.first <= time) {
      times_.erase(timers_.begin()->first.second);
      due.push_back(std::move(timers_.begin()->second));
      timers_.erase(timers_.begin());
    }
    if (!timers_.empty()) arm(timers_.begin()->first.first);
  }
  for (auto& task : due) task();
}

asio::any_io_executor RealEnv::blocking() {
  std::scoped_lock const lock(blocking_mutex_);
  if (!blocking_) blocking_ = std::make_unique<Loop>();
  return blocking_->io.get_executor();
}

void RealEnv::call_user(Task task) {
  if (!user_.run(std::move(task))) return;
  call_at(now() + UserThread::patience, [this] { user_.relieve(); });
}

}  // namespace holt
