// SPDX-License-Identifier: Apache-2.0
#pragma once
// PresentTerm: where the loop of an election, which owns all else, leaves what any thread may ask:
// do we lead, and in which term? The answer rests on the lease's own clock, not on the loop.

#include "primitives/keeper.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace holt {

class PresentTerm {
 public:
  void begin(std::shared_ptr<KeptLease> lease) {
    std::scoped_lock const lock(mutex_);
    lease_ = std::move(lease);
  }
  void end() { begin(nullptr); }

  /// The lease, if it is held at this moment.
  [[nodiscard]] std::shared_ptr<KeptLease> held(Instant now) const {
    std::scoped_lock const lock(mutex_);
    return lease_ && lease_->held(now) ? lease_ : nullptr;
  }

 private:
  std::mutex mutable mutex_;
  std::shared_ptr<KeptLease> lease_;
};

}  // namespace holt
