// SPDX-License-Identifier: Apache-2.0
#pragma once
// Voter: one candidate on one node. In the storm it stands for election, resigns, stops and starts
// again; when the world has healed it must lead once. Its work begins and ends with the events it
// is told, so that the checker sees work that goes on when it should not.

#include "primitives/election.hpp"
#include "sim/client.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace holt::sim {

class Voter {
 public:
  static constexpr char const* lease = "election/e";

  Voter(Tools tools, Keeper& keeper, SignalBus& signals, std::uint32_t number);

  /// Works until it has led in a healthy world, or until the end, or until its node is dead.
  asio::awaitable<void> run();

  void die() { dead_ = true; }
  [[nodiscard]] bool served() const { return dead_ || served_; }

 private:
  [[nodiscard]] bool over() const { return dead_ || served_ || tools_.phase.ending; }
  asio::awaitable<void> act();
  void hear(ElectionEvent const& event);
  void begin(ElectionEvent const& event);
  void end(ElectionEvent const& event);
  void check_work();
  void expect(bool is_so, std::string const& promise);

  Tools tools_;
  Random random_;
  Candidate candidate_;
  ElectionState state_ = ElectionState::follower;  ///< as it was told
  Fence last_term_;
  std::shared_ptr<bool> working_ = std::make_shared<bool>(false);  ///< in the last term told of
  std::shared_ptr<KeptLease> lease_;  ///< of the present term, if it was seen in time
  Instant idle_since_;                ///< when work without a lease was first seen
  bool dead_ = false;
  bool served_ = false;
};

}  // namespace holt::sim
