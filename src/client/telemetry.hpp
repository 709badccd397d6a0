// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the user's observer is told: one Observation per operation as it ends, and one per loss.
// Without an observer a Call is empty and costs nothing.

#include "contracts/env.hpp"
#include "primitives/keeper.hpp"

#include <holt/observer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace holt::client {

class Telemetry {
 public:
  using Raw = std::function<bool(Name const&)>;
  Telemetry(Env& env, std::string instance, Observer observer, Raw raw);

  /// Somebody observes.
  [[nodiscard]] bool on() const noexcept { return sink_ != nullptr; }
  [[nodiscard]] Instant now() const { return env_.now(); }

  /// Fills in the instance, the name and the owner, and tells it.
  void tell(Observation seen, Name const& name, Owner const& owner) const noexcept;

  /// A holder lost its lease. Told on the thread for the user's code.
  void tell_lost(KeptLease const& lease, LossReason why) const;

 private:
  struct Sink;
  Env& env_;
  std::shared_ptr<Sink const> sink_;  ///< null: nobody observes
};

/// One operation under observation.
class Call {
 public:
  using Operation = Observation::Operation;
  Call(Telemetry const& telemetry, Operation operation, Name const& name,
       std::optional<Owner> owner = {});
  /// An operation on a lease that is held.
  Call(Telemetry const& telemetry, Operation operation, KeptLease const& lease);

  void ended(std::expected<std::shared_ptr<KeptLease>, Busy> const& answer) const noexcept;
  void ended(std::expected<void, Lost> const& answer) const noexcept;
  void ended(std::optional<LeaseInfo> const& answer) const noexcept;
  void failed() const noexcept;

 private:
  struct State {
    Telemetry const* telemetry;
    Observation seen;
    Name name;
    Owner owner;
    Instant started;
    std::optional<Instant> held_since;
  };
  void tell(Observation::Reason reason, Owner const& owner, Fence fence) const noexcept;

  std::optional<State> state_;
};

}  // namespace holt::client
