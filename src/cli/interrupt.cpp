// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.hpp"

#include "cli/descriptor.hpp"
#include "cli/interruptible.hpp"
#include "cli/signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>
#include <semaphore>
#include <stop_token>
#include <system_error>
#include <thread>

namespace holt::cli {

struct Interrupt::Shared {
  int output = -1;
  Descriptor signals;
  Descriptor done;
  std::stop_source stop;
  std::atomic<int> signal = 0;
  std::binary_semaphore settled{0};  // a signal came, or none will be taken any more

  void listen() noexcept {
    int const first = next_signal();
    signal = first;
    settled.release();
    if (first == 0) return;
    stop.request_stop();
    pollfd second{signals.get(), POLLIN, 0};
    while (::poll(&second, 1, static_cast<int>(time_to_clean_up.count())) < 0 && errno == EINTR) {
    }
    end_by_signal(first);
  }

  /// 0: finish() was called before one came.
  [[nodiscard]] int next_signal() noexcept {
    // Of the output only errors are asked for: a pipe has one when its reader is gone.
    std::array<pollfd, 3> events{pollfd{signals.get(), POLLIN, 0}, pollfd{done.get(), POLLIN, 0},
                                 pollfd{output, 0, 0}};
    while (true) {
      if (::poll(events.data(), events.size(), -1) < 0) continue;
      if (events[1].revents != 0) return 0;
      if (events[2].revents != 0) {
        events[2].fd = -1;
        stop.request_stop();
      }
      if (events[0].revents == 0) continue;
      signalfd_siginfo info{};
      if (::read(signals.get(), &info, sizeof info) == sizeof info) {
        return static_cast<int>(info.ssi_signo);
      }
    }
  }
};

Interrupt::Interrupt(int output) : shared_(std::make_shared<Shared>()) {
  shared_->output = output;
  auto const set = ending_signals();
  shared_->signals = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC));
  shared_->done = Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!shared_->signals.is_open() || !shared_->done.is_open()) {
    throw std::system_error(errno, std::system_category(), "cannot watch for signals");
  }
  thread_ = std::thread([shared = shared_] { shared->listen(); });
}

Interrupt::~Interrupt() { finish(); }

std::stop_token Interrupt::token() const noexcept { return shared_->stop.get_token(); }

int Interrupt::finish() noexcept {
  if (!thread_.joinable()) return shared_->signal;
  ::eventfd_write(shared_->done.get(), 1);
  shared_->settled.acquire();
  if (shared_->signal == 0) {
    thread_.join();
  } else {
    thread_.detach();  // it ends the process if nobody else does
  }
  return shared_->signal;
}

}  // namespace holt::cli
