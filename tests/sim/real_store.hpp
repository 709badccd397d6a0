// SPDX-License-Identifier: Apache-2.0
#pragma once
// RealStore: the product's own SQLite lease store in a fresh file in memory, on simulated time.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "contracts/signal_bus.hpp"
#include "support/sim_env.hpp"

#include <memory>
#include <string>

namespace holt::sim {

class RealStore {
 public:
  RealStore(SimEnv& env, SignalBus& signals);
  ~RealStore();
  RealStore(RealStore const&) = delete;
  RealStore& operator=(RealStore const&) = delete;

  [[nodiscard]] LeaseStore& leases();

  /// The rows that are still in the tables of leases and waiters; empty when there are none.
  [[nodiscard]] std::string leftovers();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace holt::sim
