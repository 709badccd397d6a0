// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inside: what is behind the handles that users have.

#include "client/core.hpp"
#include "client/standing.hpp"

#include <holt/queue.hpp>

#include <memory>

namespace holt::client {

struct Inside {
  static Core& core(Holt const& holt) { return *holt.core_; }
  static Core& core(Lock const& lock) { return lock.held_->core(); }
  static std::shared_ptr<KeptLease> const& lease(Lock const& lock) { return lock.held_->lease(); }
  static Core& core(Queue const& queue) { return *queue.core_; }
  static Standing& standing(Election const& election) { return *election.standing_; }
};

}  // namespace holt::client
