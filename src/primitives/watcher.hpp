// SPDX-License-Identifier: Apache-2.0
#pragma once
// Watcher: sees what happens to leases. It looks at the store when the engine hints that something
// changed and when a lease that it knows should end; where the engine gives no hints, every second.
// After a look it rests a multiple of the time that the look took, so that a busy store costs it a
// small part of a processor and no more.

#include "contracts/engine.hpp"
#include "contracts/env.hpp"
#include "primitives/event.hpp"
#include "primitives/lease_view.hpp"

#include <holt/watch.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace holt {

class Watcher {
 public:
  static constexpr std::chrono::seconds longest_absence{60};
  enum class Names { with_prefix, only_this };

  /// Hints count from here on. `engine` must outlive it.
  Watcher(Env& env, Engine& engine, std::string prefix, Names which = Names::with_prefix);

  /// What happened since the last call; waits for it until `give_up` or until `stop` fires, then
  /// answers nothing. The first call does not wait. Each question to the store has `patience`.
  /// One caller at a time. Throws EngineError; of a store that is away for a while (a failover, a
  /// restart) only after `longest_absence`, or if it was not there at the first call.
  asio::awaitable<std::vector<LeaseEvent>> next(Instant give_up, Nanos patience,
                                                std::stop_token stop);

 private:
  asio::awaitable<std::vector<LeaseInfo>> read(Nanos patience);
  asio::awaitable<std::vector<LeaseEvent>> look(Nanos patience);
  asio::awaitable<std::vector<LeaseEvent>> look_again(Nanos patience);
  [[nodiscard]] Instant next_look() const;

  Env& env_;
  Engine& engine_;
  std::string const prefix_;
  Names const which_;
  Event hint_;
  Event stopped_;
  LeaseView view_;
  bool looked_ = false;
  Instant looked_at_;
  Instant rests_until_;
  std::optional<Instant> away_since_;     ///< nothing: the last look went well
  std::unique_ptr<ChangeWatch> changes_;  ///< goes first: it sets hint_
};

}  // namespace holt
