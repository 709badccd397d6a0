// SPDX-License-Identifier: Apache-2.0
#pragma once
// PollBoard: sees all polls of all nodes in true time, and judges them: no endpoint is polled by
// two nodes at once; who lost one was told before another starts; nobody polls what is not
// confirmed, and fences grow. When the world is healthy each endpoint is polled again and again,
// comes to the node that all agree on, and stays there.

#include "primitives/polling.hpp"
#include "primitives/rendezvous.hpp"
#include "sim/checker.hpp"
#include "sim/client.hpp"
#include "sim/options.hpp"
#include "support/sim_env.hpp"

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holt::sim {

class PollBoard {
 public:
  static constexpr char const* group = "p";

  PollBoard(World& world, Options const& options, Checker& checker, Phase& phase)
      : world_(world), options_(options), checker_(checker), phase_(phase) {}

  /// All endpoints there are, in order.
  [[nodiscard]] std::vector<std::string> endpoints() const;

  // Nodes. ----------------------------------------------------------------------------------------

  /// It takes part from here on, or has changed what it takes part in.
  void joins(SimEnv& env, Poller const& poller);
  void leaves(Poller const& poller);

  // Polls. ----------------------------------------------------------------------------------------

  struct InFlight {
    SimEnv* env = nullptr;
    std::shared_ptr<Duty> duty;
    std::shared_ptr<bool> working;
    bool told = false;  ///< to stop
    bool abandoned = false;
    std::optional<Nanos> lost_since;
  };
  using Polls = std::list<InFlight>;

  /// It is about to start.
  Polls::iterator starts(SimEnv& env, std::shared_ptr<Duty> duty);
  void ends(Polls::iterator poll);
  /// This node has stopped without waiting for those that it has in flight.
  void abandons(SimEnv const& env);
  /// It has some in flight that were not abandoned.
  [[nodiscard]] bool works(SimEnv const& env) const;

  // Judgement. ------------------------------------------------------------------------------------

  /// Looks at everything, from now on every few milliseconds.
  void watch();
  /// All endpoints have been where they belong for a while, in a healthy world.
  [[nodiscard]] bool settled() const { return settled_; }

 private:
  struct Seat {
    SimEnv* env;
    Poller const* poller;
  };

  [[nodiscard]] bool runs(SimEnv const& env) const;
  [[nodiscard]] Nanos running_since(SimEnv const& env) const;
  [[nodiscard]] Nanos promptness() const;
  void judge_meeting(InFlight const& before, InFlight const& now);
  void look();
  void look_at(InFlight& poll);
  void look_for_gaps();
  void look_at_places();
  [[nodiscard]] std::map<std::string, std::string> nominees() const;

  World& world_;
  Options const& options_;
  Checker& checker_;
  Phase& phase_;
  std::vector<Seat> seats_;
  Polls polls_;
  std::map<std::string, Fence> fences_;      ///< the highest a poll of it had, by endpoint
  std::map<std::string, Nanos> last_start_;  ///< by endpoint
  Nanos changed_{};                          ///< when the set of nodes last did
  std::vector<std::string> places_;          ///< who had what at the last look
  Nanos placed_since_{};                     ///< and since when
  bool settled_ = false;
};

}  // namespace holt::sim
