// SPDX-License-Identifier: Apache-2.0
#pragma once
// SignalBus on PostgreSQL: notifications, heard on a connection of its own, which is made again
// whenever it breaks. What was said meanwhile is lost; then all waiters are told to look
// (topic::offer without an owner). Offers are sent by the functions that make them.
//
// A connection pooler between us and the server may accept LISTEN and hear nothing. So the bus says
// something to itself first, and only when that arrives it listens; else it is deaf, and waiters
// have to ask by the clock.

#include "contracts/env.hpp"
#include "contracts/signal_bus.hpp"
#include "engines/postgres/place.hpp"
#include "engines/postgres/pool.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace holt::postgres {

class PostgresSignalBus final : public SignalBus {
 public:
  /// `pool` is what signals are sent on.
  PostgresSignalBus(Env& env, Pool& pool, Place const& place, std::string instance);
  /// Not on Env::executor().
  ~PostgresSignalBus() override;

  /// Nobody hears anything any more, and who waits until it does is told so. Not on
  /// Env::executor(), which must still run.
  void close();

  [[nodiscard]] std::string const& inbox() const override;
  void listen() override;
  [[nodiscard]] bool listening() const override;
  Delivery send(std::string_view inbox, Signal const& signal) override;
  void publish(Signal const& signal) override;
  Subscription subscribe(std::string topic, Handler handler) override;
  void unsubscribe(Subscription subscription) override;

  /// As if it had come by a notification; on Env::executor().
  void hear(Signal const& signal);

  /// Waits until signals arrive; on Env::executor(). False: they never will on this connection.
  /// Throws EngineError.
  asio::awaitable<bool> reachable(Instant deadline);

  /// Why no signal arrives although the connection is there; empty: they do, or nobody asked yet.
  /// On Env::executor().
  [[nodiscard]] std::string deafness() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::postgres
