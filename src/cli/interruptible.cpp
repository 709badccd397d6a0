// SPDX-License-Identifier: Apache-2.0
#include "cli/interruptible.hpp"

#include "cli/signals.hpp"
#include "cli/stream.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <string_view>

namespace holt::cli {
namespace {

// What the handlers know. They make system calls and read this, nothing else.
constinit std::atomic<int> first_signal = 0;
constinit std::atomic<bool> has_timer = false;
constinit timer_t timer = {};
constinit std::array<char, 1024> slow_text{};
constinit std::atomic<std::size_t> slow_size = 0;

/// Not SIGALRM: that may be somebody's time limit for us.
int timer_signal() noexcept { return SIGRTMIN; }

void arm(std::chrono::nanoseconds time) noexcept {
  itimerspec spec{};
  spec.it_value.tv_nsec = time.count();
  if (has_timer) ::timer_settime(timer, 0, &spec, nullptr);
}

void on_signal(int signal) noexcept {
  if (first_signal != 0 || !has_timer) end_by_signal(signal);
  first_signal = signal;
  arm(time_to_clean_up);
}

void on_timer(int /*signal*/) noexcept {
  if (first_signal != 0) end_by_signal(first_signal);
  talk_in_handler({slow_text.data(), slow_size});
}

/// One that came while it was blocked, and would kill us by default.
void drop_pending(int signal) noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  timespec const at_once{};
  ::sigtimedwait(&set, nullptr, &at_once);
}

constexpr std::array<int, 4> ending{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

}  // namespace

void end_by_signal(int signal) noexcept {
  talk_in_handler("holt: interrupted\n");
  ::_exit(128 + signal);
}

Interruptible::Interruptible(std::string_view when_slow) noexcept {
  first_signal = 0;
  slow_size = std::min(when_slow.size(), slow_text.size());
  std::ranges::copy(when_slow.substr(0, slow_size), slow_text.begin());
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = timer_signal();
  has_timer = ::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
  auto set = ending_signals();
  for (int const signal : ending) {
    if (::sigismember(&set, signal) == 1) handle(signal, &on_signal);
  }
  handle(timer_signal(), &on_timer);
  ::sigaddset(&set, timer_signal());
  if (!when_slow.empty()) arm(time_to_say_something);
  ::pthread_sigmask(SIG_UNBLOCK, &set, &mask_before_);
}

Interruptible::~Interruptible() {
  sigset_t set = mask_before_;
  for (std::size_t i = 0; i < count_; ++i) ::sigaddset(&set, replaced_.at(i).signal);
  ::pthread_sigmask(SIG_SETMASK, &set, nullptr);
  if (first_signal != 0) {  // counting goes on
    for (std::size_t i = 0; i < count_; ++i) ::sigdelset(&set, replaced_.at(i).signal);
    ::pthread_sigmask(SIG_SETMASK, &set, nullptr);
    return;
  }
  if (has_timer) ::timer_delete(timer);
  has_timer = false;
  drop_pending(timer_signal());
  for (std::size_t i = 0; i < count_; ++i) {
    ::sigaction(replaced_.at(i).signal, &replaced_.at(i).before, nullptr);
  }
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

int Interruptible::signal() const noexcept { return first_signal; }

void Interruptible::handle(int signal, void (*handler)(int)) noexcept {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  auto& entry = replaced_.at(count_++);
  entry.signal = signal;
  ::sigaction(signal, &action, &entry.before);
}

}  // namespace holt::cli
