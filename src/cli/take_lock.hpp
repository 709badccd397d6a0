// SPDX-License-Identifier: Apache-2.0
#pragma once
// Takes a lock for a command: at once if it is free, else standing in line until the time is up or
// somebody presses Ctrl-C.

#include "cli/command_line.hpp"
#include "cli/progress.hpp"

#include <holt/lock.hpp>
#include <holt/open.hpp>

#include <chrono>
#include <expected>
#include <optional>
#include <string>

namespace holt::cli {

/// The options of every command that takes a lock.
struct TakeOptions {
  std::optional<std::chrono::milliseconds> ttl;
  std::optional<std::string> note;

  void declare(CommandLine& line);
  [[nodiscard]] std::chrono::milliseconds ttl_or_default() const {
    return ttl.value_or(LockOptions{}.ttl);
  }
};

/// Takes it, waiting up to options.wait and telling whom it waits for. The signals of
/// ending_signals() must be blocked. Throws Failure when a signal came first (then nothing is
/// held, and the process has interruptible.hpp's time_to_clean_up left), and as Holt::lock() does.
[[nodiscard]] std::expected<Lock, Busy> take_lock(Holt& holt, Name const& name,
                                                  LockOptions const& options, Progress progress);

/// Why it was not taken, for people.
[[nodiscard]] std::string refusal(Name const& name, Busy const& busy,
                                  std::chrono::milliseconds waited);

}  // namespace holt::cli
