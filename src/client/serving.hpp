// SPDX-License-Identifier: Apache-2.0
#pragma once
// Serving: an Instance's inside: the replica and what keeps its client alive.

#include "client/listener_gate.hpp"
#include "primitives/instance_register.hpp"
#include "primitives/replica.hpp"

#include <memory>
#include <utility>

namespace holt::client {

class Core;

class Serving {
 public:
  Serving(std::shared_ptr<Core> core, Env& env, Locks& locks, InstanceRegister instances,
          Charter charter, Replica::Listener listener)
      : core_(std::move(core)),
        instances_(instances),
        gate_(std::make_shared<Gate>(std::move(listener))),
        replica_(std::make_unique<Replica>(
            env, locks, instances_, std::move(charter),
            [gate = gate_](InstanceEvent const& event) { gate->tell(event); })) {}
  /// Stops it, waiting at most 50 ms; afterwards the listener is not called. In a forked child the
  /// other half is in the parent: then nothing is cleaned up.
  ~Serving();
  Serving(Serving const&) = delete;
  Serving& operator=(Serving const&) = delete;

  [[nodiscard]] Core& core() const noexcept { return *core_; }
  [[nodiscard]] Replica& replica() const noexcept { return *replica_; }

 private:
  using Gate = ListenerGate<InstanceEvent>;

  std::shared_ptr<Core> core_;
  InstanceRegister instances_;
  std::shared_ptr<Gate> gate_;
  std::unique_ptr<Replica> replica_;
};

}  // namespace holt::client
