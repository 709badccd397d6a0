// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `holt lock try` and `holt lock acquire` share: take a lock and leave it in the store, for
// scripts that extend and release it themselves.

#include "cli/command_line.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/store.hpp"
#include "cli/take_lock.hpp"

#include <chrono>
#include <string>

namespace holt::cli {

struct LockTakeOptions {
  std::string name;
  TakeOptions take;
  StoreOptions store;
  OutputOption output;

  void declare(CommandLine& line);
};

/// Takes it, waiting up to `wait`, and prints the handle. Answers the exit status.
/// Throws Failure{conflict} when it is not free.
int take_and_leave(CommandLine& line, LockTakeOptions const& options,
                   std::chrono::milliseconds wait, Progress progress);

}  // namespace holt::cli
