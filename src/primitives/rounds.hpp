// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rounds: which endpoint is to be polled next, and when. A duty is due at once and then `every` so
// often, counted from the start of each poll; one whose poll takes longer is due when it ends.
// Those that may not be polled now are passed over until they may. Any thread; shared with the
// polls in flight.

#include "contracts/env.hpp"
#include "primitives/duty.hpp"
#include "primitives/event.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace holt {

/// A poll that is to start: its duty counts it as work until Rounds::done.
struct PollTurn {
  PollTurn(std::shared_ptr<Duty> of, Instant at) : duty(std::move(of)), started(at) {}
  std::shared_ptr<Duty> duty;
  Instant started;
};

class Rounds : public std::enable_shared_from_this<Rounds> {
 public:
  Rounds(Env& env, Nanos every) : env_(env), every_(every) {}

  void add(std::shared_ptr<Duty> duty);
  void remove(Duty const& duty);

  /// Waits until one is due. Nothing: `stop` fired, `give_up` passed, or the rounds are over.
  asio::awaitable<std::optional<PollTurn>> next(Instant give_up, std::stop_token stop);

  /// Any thread.
  void done(std::shared_ptr<Duty> const& duty, Instant started);

  /// Nobody waits any more, and all duties are removed; begin() lets them wait again.
  void end();
  void begin();

 private:
  using Due = std::multimap<Instant, std::shared_ptr<Duty>>;
  using Waiting = std::list<Event>;

  std::optional<PollTurn> take(Instant now);
  void put(Instant when, std::shared_ptr<Duty> duty);
  [[nodiscard]] Instant next_look(Instant give_up) const;

  Env& env_;
  Nanos const every_;
  bool ended_ = false;
  Due due_;
  Waiting waiting_;
};

}  // namespace holt
