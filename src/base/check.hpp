// SPDX-License-Identifier: Apache-2.0
#pragma once
// HOLT_CHECK stops the program when our own invariant is broken; it stays on in release builds.
// Never for something that a server, a restored backup or a user can cause.

namespace holt {

/// Prints what was expected and where, then aborts.
[[noreturn]] void check_failed(char const* expression, char const* file, int line);

}  // namespace holt

#define HOLT_CHECK(expression) \
  ((expression) ? void(0) : ::holt::check_failed(#expression, __FILE__, __LINE__))
