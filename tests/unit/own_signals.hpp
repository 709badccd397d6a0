// SPDX-License-Identifier: Apache-2.0
#pragma once
// A bus with nobody else on it: what is said is heard here.

#include "contracts/signal_bus.hpp"
#include "contracts/signal_handlers.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace holt {

class OwnSignals final : public SignalBus {
 public:
  [[nodiscard]] std::string const& inbox() const override { return inbox_; }
  void listen() override {}
  [[nodiscard]] bool listening() const override { return true; }
  Delivery send(std::string_view /*inbox*/, Signal const& signal) override {
    publish(signal);
    return Delivery::sent;
  }
  void publish(Signal const& signal) override { handlers_.dispatch(signal); }
  Subscription subscribe(std::string topic, Handler handler) override {
    return handlers_.subscribe(std::move(topic), std::move(handler));
  }
  void unsubscribe(Subscription subscription) override { handlers_.unsubscribe(subscription); }

 private:
  std::string const inbox_ = "us";
  SignalHandlers handlers_;
};

}  // namespace holt
