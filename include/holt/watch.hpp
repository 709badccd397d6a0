// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sees what happens to leases while it happens, without asking again and again:
//   auto watch = holt.watch("deploy/");
//   for (auto const& event : watch.next()) tell(event);   // first what there is, then what changes
// It compares what the store holds with what it saw last. What came and went between two looks
// (some hundredths of a second when much happens) is not seen: for people and for waiting, not for
// counting.

#include <holt/lease.hpp>
#include <holt/lock.hpp>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {

enum class LeaseEventKind {
  present,   ///< it was there when the watch began
  acquired,  ///< somebody holds it now, be it a free name or one that was offered
  offered,   ///< promised to the next in line, who has not confirmed yet
  broken,    ///< the holder was asked to stop; LeaseInfo::broken says why
  waiting,   ///< another number of waiters stands in line
  released,  ///< given back, or freed by a break, before its time was over
  expired,   ///< its time was over
};
[[nodiscard]] std::string_view to_string(LeaseEventKind kind) noexcept;

struct LeaseEvent {
  LeaseEventKind kind = LeaseEventKind::present;
  std::chrono::system_clock::time_point seen_at;  ///< for people; it happened a little before
  LeaseInfo lease;  ///< as it is now; of released and expired as it was seen last
};

namespace [[gnu::visibility("hidden")]] client {
class Watching;
}

/// Watches until it is destroyed. Move-only; one thread at a time.
class Watch {
 public:
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;
  ~Watch();

  /// What happened since the last call, in order of names, those of one name in order of time;
  /// waits for it up to `wait` or until `stop` fires, then answers nothing. The first call does not
  /// wait. Throws EngineError: `aborted` when closed; a store that is away is waited for, a minute.
  std::vector<LeaseEvent> next(std::chrono::milliseconds wait = wait_forever,
                               std::stop_token stop = {});

 private:
  friend class client::Core;
  explicit Watch(std::unique_ptr<client::Watching> watching) noexcept;
  std::unique_ptr<client::Watching> watching_;
};

}  // namespace holt
#pragma GCC visibility pop
