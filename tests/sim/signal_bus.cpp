// SPDX-License-Identifier: Apache-2.0
#include "sim/signal_bus.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace holt::sim {

void SignalHub::add(SimSignalBus& bus) { buses_.emplace(bus.inbox(), &bus); }

Delivery SignalHub::send(std::string_view inbox, Signal const& signal) {
  auto const found = buses_.find(inbox);
  if (found == buses_.end()) return Delivery::dead;
  auto& to = *found->second;
  if (to.unplugged()) {
    return random_.chance(faults_.tells_dead) ? Delivery::dead : Delivery::unknown;
  }
  carry(to, signal);
  return Delivery::sent;
}

void SignalHub::publish(Signal const& signal) {
  for (auto const& [inbox, bus] : buses_) {
    if (!bus->unplugged()) carry(*bus, signal);
  }
}

void SignalHub::carry(SimSignalBus& to, Signal const& signal) {
  auto const copies = random_.chance(faults_.signal_repeated) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    if (random_.chance(faults_.signal_lost)) continue;
    auto const delay = random_.between(Nanos(1000), faults_.signal_delay);
    world_.schedule(to.node(), world_.now() + delay, [&to, signal] { to.hear(signal); });
  }
}

void SignalHub::heal() {
  FaultOptions healthy;
  healthy.tells_dead = faults_.tells_dead;
  faults_ = healthy;
}

SimSignalBus::SimSignalBus(SignalHub& hub, World& world, NodeId node)
    : hub_(hub), world_(world), node_(node), inbox_(world.name(node)) {
  hub.add(*this);
}

Delivery SimSignalBus::send(std::string_view inbox, Signal const& signal) {
  if (unplugged_) return Delivery::unknown;
  auto const delivery = hub_.send(inbox, signal);
  world_.say(node_, fmt::format("sends {} to {}: {}", signal.topic, signal.text,
                                delivery == Delivery::dead ? "dead" : "on its way"));
  return delivery;
}

void SimSignalBus::publish(Signal const& signal) {
  if (!unplugged_) hub_.publish(signal);
}

SignalBus::Subscription SimSignalBus::subscribe(std::string topic, Handler handler) {
  auto const id = next_++;
  listeners_.emplace(id, Listener{std::move(topic), std::move(handler)});
  return id;
}

void SimSignalBus::unsubscribe(Subscription subscription) { listeners_.erase(subscription); }

void SimSignalBus::hear(Signal const& signal) {
  if (unplugged_ || !listening_) return;
  world_.say(node_, fmt::format("hears {} for {}", signal.topic, signal.text));
  std::vector<Handler> handlers;  // a handler may subscribe or unsubscribe
  for (auto const& [id, listener] : listeners_) {
    if (listener.topic == signal.topic) handlers.push_back(listener.handler);
  }
  for (auto const& handler : handlers) handler(signal);
}

}  // namespace holt::sim
