// SPDX-License-Identifier: Apache-2.0
#pragma once
// RealStore: the product's own SQLite stores of leases, records and tasks in files in memory, on
// simulated time.
//
// A disk is what a power cut leaves: the files as they were after one of the last commits. A store
// that commits leases without waiting for the disk comes back as that, and not as it was. Records
// and tasks are answered when they are on the disk, and with them all that was committed before.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "contracts/record_store.hpp"
#include "contracts/signal_bus.hpp"
#include "contracts/task_store.hpp"
#include "support/sim_env.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::sim {

class RealStore {
 public:
  class Disk;

  /// On a fresh disk, or on the one that an earlier store left.
  RealStore(SimEnv& env, SignalBus& signals, std::shared_ptr<Disk const> disk = nullptr);
  ~RealStore();
  RealStore(RealStore const&) = delete;
  RealStore& operator=(RealStore const&) = delete;

  [[nodiscard]] LeaseStore& leases();
  [[nodiscard]] RecordStore& records();
  [[nodiscard]] TaskStore& tasks();

  /// What would be found if the power went off now and every commit had reached the disk. Records
  /// that are written later come to it, too.
  [[nodiscard]] std::shared_ptr<Disk const> disk();

  /// The rows that are still in the tables of leases and waiters; empty when there are none.
  [[nodiscard]] std::string leftovers();
  /// The leases whose note has this word in it.
  [[nodiscard]] std::string leases_of(std::string_view word);
  /// Keys and values of the records whose key begins so.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> records_from(
      std::string_view prefix);

 private:
  class DurableRecords;
  class DurableTasks;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace holt::sim
