// SPDX-License-Identifier: Apache-2.0
#pragma once
// Serving: an Instance's inside: the replica and what keeps its client alive.

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
        replica_(std::make_unique<Replica>(env, locks, instances_, std::move(charter),
                                           std::move(listener))) {}
  /// Stops it, waiting at most 50 ms. In a forked child the other half is in the parent: then
  /// nothing is cleaned up.
  ~Serving();
  Serving(Serving const&) = delete;
  Serving& operator=(Serving const&) = delete;

  [[nodiscard]] Core& core() const noexcept { return *core_; }
  [[nodiscard]] Replica& replica() const noexcept { return *replica_; }

 private:
  std::shared_ptr<Core> core_;
  InstanceRegister instances_;
  std::unique_ptr<Replica> replica_;
};

}  // namespace holt::client
