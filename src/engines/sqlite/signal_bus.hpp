// SPDX-License-Identifier: Apache-2.0
#pragma once
// SignalBus on one machine: each client that listens has a datagram socket in the folder
// <store>.inbox. A datagram to a socket that nobody holds open is refused by the kernel, which is
// how a dead waiter is known at once.
// A message is three parts with a newline between: instance, topic, text.

#include "contracts/env.hpp"
#include "contracts/signal_bus.hpp"
#include "engines/sqlite/place.hpp"
#include "engines/sqlite/store_file.hpp"

#include <memory>
#include <string>

namespace holt::sqlite {

class SqliteSignalBus final : public SignalBus {
 public:
  /// Opens nothing. `file` is watched as soon as somebody listens.
  SqliteSignalBus(Env& env, StoreFile& file, Place const& place, std::string instance);
  /// After this no handler is called. Not on Env::executor().
  ~SqliteSignalBus() override;

  [[nodiscard]] std::string const& inbox() const override;
  void listen() override;
  [[nodiscard]] bool listening() const override;
  Delivery send(std::string_view inbox, Signal const& signal) override;
  void publish(Signal const& signal) override;
  Subscription subscribe(std::string topic, Handler handler) override;
  void unsubscribe(Subscription subscription) override;

 private:
  struct State;
  std::shared_ptr<State> state_;
  StoreFile& file_;
};

}  // namespace holt::sqlite
