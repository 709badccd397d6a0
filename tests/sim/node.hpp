// SPDX-License-Identifier: Apache-2.0
#pragma once
// Node: one simulated process, wired as the client library wires a real one: its own clock, its
// own way to the store, one keeper, one Locks, and some clients on top.

#include "base/log.hpp"
#include "primitives/keeper.hpp"
#include "primitives/lock.hpp"
#include "sim/checker.hpp"
#include "sim/client.hpp"
#include "sim/crew.hpp"
#include "sim/customer.hpp"
#include "sim/faulty_lease_store.hpp"
#include "sim/faulty_link.hpp"
#include "sim/faulty_record_store.hpp"
#include "sim/faulty_task_store.hpp"
#include "sim/fetcher.hpp"
#include "sim/foreman.hpp"
#include "sim/landlord.hpp"
#include "sim/poll_board.hpp"
#include "sim/signal_bus.hpp"
#include "sim/tenant.hpp"
#include "sim/voter.hpp"
#include "support/sim_env.hpp"

#include <memory>
#include <string>
#include <vector>

namespace holt::sim {

/// What all nodes of a world share.
struct Surroundings {
  World& world;
  SignalHub& hub;
  SimEnv& store_env;
  LeaseStore& leases;
  RecordStore& records;
  TaskStore& tasks;
  Checker& checker;
  PollBoard& board;
  Landlord& landlord;
  TaskLedger& ledger;
  Foreman& foreman;
  Options const& options;
  Phase& phase;
};

class Node {
 public:
  /// `name` is what it is called in a polling.
  Node(Surroundings around, NodeId id, std::string name, Skew skew);

  void start_clients();
  /// From here on nothing of it is seen or heard; what it sent may still arrive.
  void crash();
  /// The same with the machine that the store is on.
  void lose_power();
  /// From here on only ordinary delays.
  void heal();
  /// Lets clients and loops come to their end; closed() tells when they have.
  void close();
  /// Its calls fail at once: the quickest way to an end.
  void unplug() { link_.unplug(); }

  [[nodiscard]] NodeId id() const { return id_; }
  [[nodiscard]] std::string const& name() const { return name_; }
  [[nodiscard]] SimEnv& env() { return env_; }
  [[nodiscard]] FaultyLink& link() { return link_; }
  [[nodiscard]] bool crashed() const { return crashed_; }
  [[nodiscard]] bool closed() const { return closed_; }
  /// All clients have what they were to have.
  [[nodiscard]] bool served() const;
  /// It still adds tasks.
  [[nodiscard]] bool adds() const { return customer_ && !customer_->served(); }
  [[nodiscard]] bool idle() const { return running_ == 0; }

 private:
  void start(asio::awaitable<void> work);
  asio::awaitable<void> close_parts();

  Surroundings around_;
  NodeId id_;
  std::string name_;
  SimEnv env_;
  SimSignalBus bus_;
  FaultyLink link_;
  FaultyLeaseStore leases_;
  FaultyRecordStore records_;
  FaultyTaskStore tasks_;
  EventLog log_;
  Keeper keeper_;
  Locks locks_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::unique_ptr<Voter> voter_;      ///< null: this seed has no election
  std::unique_ptr<Fetcher> fetcher_;  ///< null: this seed has no polling
  std::unique_ptr<Tenant> tenant_;    ///< null: this seed has no instances
  std::unique_ptr<Crew> crew_;        ///< null: this seed has no tasks
  std::unique_ptr<Customer> customer_;
  Event client_ended_;
  int running_ = 0;
  bool crashed_ = false;
  bool closed_ = false;
};

}  // namespace holt::sim
