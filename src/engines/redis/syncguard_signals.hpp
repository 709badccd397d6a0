// SPDX-License-Identifier: Apache-2.0
#pragma once
// The signals of a fleet that has none: every one is lost, as signals may be. Owners get the one
// inbox that all holders of the fleet are shown with, so that a holder looks the same to itself and
// to others.

#include "contracts/signal_bus.hpp"
#include "engines/redis/syncguard_layout.hpp"

#include <atomic>
#include <string>

namespace holt::redis {

class SyncguardSignals final : public SignalBus {
 public:
  [[nodiscard]] std::string const& inbox() const override { return inbox_; }
  void listen() override {}
  [[nodiscard]] bool listening() const override { return true; }
  Delivery send(std::string_view /*inbox*/, Signal const& /*signal*/) override {
    return Delivery::unknown;
  }
  void publish(Signal const& /*signal*/) override {}
  Subscription subscribe(std::string /*topic*/, Handler /*handler*/) override { return ++last_; }
  void unsubscribe(Subscription /*subscription*/) override {}

 private:
  std::string const inbox_{syncguard_inbox};
  std::atomic<Subscription> last_ = 0;
};

}  // namespace holt::redis
