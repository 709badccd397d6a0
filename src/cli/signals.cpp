// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include <signal.h>

#include <initializer_list>

namespace holt::cli {

sigset_t ending_signals() noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  for (int const signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    struct sigaction action{};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) ::sigaddset(&set, signal);
  }
  return set;
}

sigset_t forwarded_signals() noexcept {
  sigset_t set;
  ::sigfillset(&set);
  for (int const fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    ::sigdelset(&set, fault);
  }
  return set;
}

BlockedSignals::BlockedSignals(sigset_t const& signals) noexcept {
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

BlockedSignals::~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace holt::cli
