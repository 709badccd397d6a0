// SPDX-License-Identifier: Apache-2.0
#pragma once
// Client: one user of locks on one node. In the storm it does all that a user may do: tries, waits,
// gives up, cancels, holds and writes, extends, releases or forgets, breaks, and acts on what is
// not his. When the world has healed it takes a few locks that it must get.

#include "primitives/lock.hpp"
#include "sim/checker.hpp"
#include "sim/options.hpp"
#include "support/sim_env.hpp"

#include <holt/error.hpp>

#include <memory>
#include <stop_token>
#include <string>

namespace holt::sim {

/// Which part of the simulation it is; shared by all clients.
struct Phase {
  bool healed = false;
  bool ending = false;
  NodeId outside = 0;    ///< the node of what is never paused: the register, the driver
  Nanos longest_wait{};  ///< after healing
};

/// What a client works with: the parts of its node.
struct Tools {
  SimEnv& env;
  LeaseStore& store;
  Locks& locks;
  Checker& checker;
  Options const& options;
  Phase& phase;
};

class Client {
 public:
  Client(Tools tools, std::string const& name);

  /// Works until the end, or until its node is dead.
  asio::awaitable<void> run();

  /// The node crashed: what is left of this client ends as soon as it runs.
  void die() { dead_ = true; }
  /// It took all the locks it had to take after healing.
  [[nodiscard]] bool served() const { return dead_ || sure_rounds_ == 0; }

 private:
  struct Round;

  [[nodiscard]] bool over() const { return dead_ || tools_.phase.ending; }
  Round choose();
  Nanos choose_ttl();
  asio::awaitable<void> sleep(Nanos for_how_long);
  asio::awaitable<void> take(Round round);
  asio::awaitable<std::shared_ptr<KeptLease>> acquire(Round const& round);
  LockRequest request_of(Round const& round);
  void judge(Round const& round, bool granted, std::string const& otherwise);
  void judge_time(std::string_view operation, Nanos began, Nanos stood_still, Nanos allowed);
  void judge_error(Round const& round, EngineError const& error);
  asio::awaitable<void> hold(Round const& round, std::shared_ptr<KeptLease> lease);
  void write(Round const& round, KeptLease const& lease);
  asio::awaitable<void> extend(Round const& round, std::shared_ptr<KeptLease> lease);
  asio::awaitable<void> release(Round const& round, std::shared_ptr<KeptLease> lease);
  asio::awaitable<void> break_one(Round const& round);
  asio::awaitable<void> act_as_stranger(Round const& round);
  asio::awaitable<void> look(Round const& round);
  void say(std::string const& text);

  Tools tools_;
  World& world_;
  Random random_;
  Random ranks_;
  std::string name_;
  bool dead_ = false;
  int sure_rounds_ = 2;
};

}  // namespace holt::sim
