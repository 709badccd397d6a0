// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tells whom one waits for while this thread is blocked in Holt::lock(): who holds the lock, how
// many stand before us in line at most, how long it has been. Nothing is said of a wait that is
// over before a person would notice it.

#include "cli/progress.hpp"

#include <holt/clock.hpp>
#include <holt/lease.hpp>
#include <holt/name.hpp>
#include <holt/open.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace holt::cli {

/// A line for stderr, with its end, that says that the store has not answered; may be empty.
[[nodiscard]] std::string slow_store_line(Progress form);

class WaitProgress {
 public:
  /// Asks the store from a thread of its own while it lives. Throws std::system_error.
  WaitProgress(Holt& holt, Name name, Progress form);
  ~WaitProgress();
  WaitProgress(WaitProgress const&) = delete;
  WaitProgress& operator=(WaitProgress const&) = delete;

  /// The wait is over. `how` is what a program is told ("acquired", "gave_up").
  void finish(std::string_view how);

 private:
  void run(std::stop_token const& stop);
  void show();
  void count_those_before(LeaseInfo const& lease);
  [[nodiscard]] std::string text(std::optional<LeaseInfo> const& lease) const;
  [[nodiscard]] std::string json(std::optional<LeaseInfo> const& lease) const;

  Holt& holt_;
  Name name_;
  Progress form_;
  Instant start_;
  bool shown_ = false;
  Fence fence_;
  std::optional<std::uint32_t> before_;  ///< at most so many stand before us
  std::jthread thread_;                  // last: it uses all the others
};

}  // namespace holt::cli
