// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.hpp"

#include "cli/descriptor.hpp"
#include "cli/signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

namespace holt::cli {

Interrupt::Interrupt(int output) : output_(output) {
  auto const set = ending_signals();
  signals_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC));
  done_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!signals_.is_open() || !done_.is_open()) {
    throw std::system_error(errno, std::system_category(), "cannot watch for signals");
  }
  thread_ = std::thread([this] { listen(); });
}

Interrupt::~Interrupt() {
  ::eventfd_write(done_.get(), 1);
  thread_.join();
}

void Interrupt::listen() noexcept {
  // Of the output only errors are asked for: a pipe has one when its reader is gone.
  std::array<pollfd, 3> events{pollfd{signals_.get(), POLLIN, 0}, pollfd{done_.get(), POLLIN, 0},
                               pollfd{output_, 0, 0}};
  while (true) {
    if (::poll(events.data(), events.size(), -1) < 0) continue;
    if (events[1].revents != 0) return;
    if (events[2].revents != 0) {
      events[2].fd = -1;
      stop_.request_stop();
    }
    if (events[0].revents == 0) continue;
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info) continue;
    if (signal_ != 0) ::_exit(128 + signal_);
    signal_ = static_cast<int>(info.ssi_signo);
    stop_.request_stop();
  }
}

}  // namespace holt::cli
