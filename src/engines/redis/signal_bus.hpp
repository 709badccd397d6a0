// SPDX-License-Identifier: Apache-2.0
#pragma once
// SignalBus on Redis: messages to the channels of inboxes and of everybody, heard on a connection
// of its own, which is made again whenever it breaks. What was said meanwhile is lost; then all
// waiters are told to look (topic::offer without an owner). Offers are sent by the scripts
// themselves.

#include "contracts/env.hpp"
#include "contracts/signal_bus.hpp"
#include "engines/redis/layout.hpp"
#include "engines/redis/servers.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace holt::redis {

class RedisSignalBus final : public SignalBus {
 public:
  /// `servers` is what signals are sent on.
  RedisSignalBus(Env& env, Place const& place, Servers& servers, Keys const& keys);
  /// Not on Env::executor().
  ~RedisSignalBus() override;

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

  /// Waits until signals arrive; on Env::executor(). Throws EngineError.
  asio::awaitable<void> reachable(Instant deadline);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::redis
