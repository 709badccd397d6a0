// SPDX-License-Identifier: Apache-2.0
#pragma once
// What this machine is called, and what a process on it calls itself unless told otherwise.

#include "contracts/env.hpp"

#include <string>

namespace holt::client {

[[nodiscard]] std::string host_name();

/// `<host>-<now in ns>-<8 random hex digits>`: never the same twice.
[[nodiscard]] std::string node_name(Env& env);

/// `<host>-<pid>`: for people.
[[nodiscard]] std::string process_name();

}  // namespace holt::client
