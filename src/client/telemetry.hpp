// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the user's observer is told and what is counted: each operation as it ends, each loss, and
// the keeper's work. Without observer and metrics a Call is empty and costs nothing.

#include "base/metrics.hpp"
#include "contracts/env.hpp"
#include "primitives/keeper.hpp"

#include <holt/observer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace holt::client {

class Telemetry final : public Keeper::Watcher {
 public:
  using Raw = std::function<bool(Name const&)>;
  Telemetry(Env& env, std::string instance, Observer observer, Raw raw,
            std::shared_ptr<Metrics> metrics);

  /// Somebody wants to know.
  [[nodiscard]] bool on() const noexcept { return sink_ || metrics_; }
  [[nodiscard]] Instant now() const { return env_.now(); }

  /// An operation ended. Fills in the instance, the name and the owner, and tells it.
  void tell(Observation seen, Name const& name, Owner const& owner) const noexcept;

  void kept(KeptLease const& lease) override;
  void dropped(KeptLease const& lease, LossReason why) override;
  void renewed(Nanos lag) override;
  void at_risk() override;

 private:
  struct Sink;
  void tell_lost(KeptLease const& lease, LossReason why) const;

  Env& env_;
  std::string instance_;
  std::shared_ptr<Sink const> sink_;  ///< null: nobody observes
  std::shared_ptr<Metrics> metrics_;  ///< null: nobody counts
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
