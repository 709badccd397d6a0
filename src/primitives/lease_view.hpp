// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseView: what was seen of leases at the last look, and what a new look says has happened since.
// Pure: it reads no clock and no store.

#include <holt/clock.hpp>
#include <holt/watch.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holt {

class LeaseView {
 public:
  /// Takes in what there was at some moment between `asked` and `now`, and answers what happened
  /// since the last look; at the first one that all of it is present. `wall` goes into the events.
  std::vector<LeaseEvent> update(std::vector<LeaseInfo> leases, Instant asked, Instant now,
                                 std::chrono::system_clock::time_point wall);

  /// When the next lease ends that nobody renews; nothing when none does.
  [[nodiscard]] std::optional<Instant> next_end() const;

 private:
  struct Seen {
    LeaseInfo lease;
    Instant end;      ///< at the latest
    Instant may_end;  ///< at the earliest, unless it is released
  };
  using Names = std::map<std::string, Seen>;

  bool looked_ = false;
  Names seen_;
};

}  // namespace holt
