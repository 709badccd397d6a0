// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether a process that a test had a pid of is no more.

#include <signal.h>
#include <sys/types.h>

#include <cerrno>

namespace holt::test {

inline bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace holt::test
