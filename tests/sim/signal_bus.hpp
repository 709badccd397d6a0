// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals between simulated nodes: late, lost, doubled, as a SignalBus may be. Sending to a node
// that crashed is sometimes noticed.

#include "contracts/signal_bus.hpp"
#include "sim/options.hpp"
#include "support/sim_world.hpp"

#include <map>
#include <string>

namespace holt::sim {

class SimSignalBus;

/// What connects the nodes of one world.
class SignalHub {
 public:
  SignalHub(World& world, FaultOptions const& faults, std::uint64_t seed)
      : world_(world), faults_(faults), random_(seed, "signals") {}

  void add(SimSignalBus& bus);
  Delivery send(std::string_view inbox, Signal const& signal);
  void publish(Signal const& signal);
  /// From now on every signal arrives once and in order of its delay.
  void heal();

 private:
  void carry(SimSignalBus& to, Signal const& signal);

  World& world_;
  FaultOptions faults_;
  Random random_;
  std::map<std::string, SimSignalBus*, std::less<>> buses_;
};

/// One node's end.
class SimSignalBus final : public SignalBus {
 public:
  SimSignalBus(SignalHub& hub, World& world, NodeId node);

  [[nodiscard]] std::string const& inbox() const override { return inbox_; }
  void listen() override { listening_ = true; }
  [[nodiscard]] bool listening() const override { return listening_; }
  Delivery send(std::string_view inbox, Signal const& signal) override;
  void publish(Signal const& signal) override;
  Subscription subscribe(std::string topic, Handler handler) override;
  void unsubscribe(Subscription subscription) override;

  /// A crash: nothing is sent or heard any more.
  void unplug() { unplugged_ = true; }
  [[nodiscard]] bool unplugged() const { return unplugged_; }
  [[nodiscard]] NodeId node() const { return node_; }
  /// Called on the node when a signal has arrived.
  void hear(Signal const& signal);

 private:
  struct Listener {
    std::string topic;
    Handler handler;
  };
  SignalHub& hub_;
  World& world_;
  NodeId node_;
  std::string inbox_;
  bool listening_ = false;
  bool unplugged_ = false;
  Subscription next_ = 1;
  std::map<Subscription, Listener> listeners_;
};

}  // namespace holt::sim
