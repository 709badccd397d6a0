// SPDX-License-Identifier: Apache-2.0
#pragma once
// The --once-per option of holt run: at most one run that counts per period, across the fleet.

#include "cli/command_line.hpp"

#include <holt/clock.hpp>
#include <holt/lock.hpp>
#include <holt/name.hpp>
#include <holt/open.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace holt::cli {

class OncePer {
 public:
  void declare(CommandLine& line);

  /// Throws UsageError for a period that cannot be.
  void check() const;

  /// True when it was done within its period, which is said on stderr. False without the option.
  /// Throws EngineError.
  [[nodiscard]] bool is_done(Holt& holt, Name const& name) const;

  /// The command has succeeded under `lock`. What goes wrong is said on stderr and no more: the
  /// command's status is what counts for the caller.
  void count(Holt& holt, Lock const& lock, Instant started, std::string_view note) const;

 private:
  std::optional<std::chrono::milliseconds> period_;
};

}  // namespace holt::cli
