// SPDX-License-Identifier: Apache-2.0
#include "client/telemetry.hpp"

#include <exception>
#include <utility>

namespace holt::client {
namespace {

using Reason = Observation::Reason;

Reason reason_of(Lost const& lost) {
  return lost.reason == LossReason::expired ? Reason::expired : Reason::not_found;
}

}  // namespace

struct Telemetry::Sink {
  std::string instance;
  Observer observer;
  Raw raw;

  void tell(Observation seen, Name const& name, Owner const& owner) const noexcept {
    try {
      seen.instance = instance;
      seen.raw = raw && raw(name);
      seen.name = seen.raw ? name.text() : name.hash();
      if (!owner.empty()) seen.owner = seen.raw ? owner.text() : owner.hash();
      observer(seen);
    } catch (...) {  // the user's error in the user's code: not ours to judge
      return;
    }
  }
};

Telemetry::Telemetry(Env& env, std::string instance, Observer observer, Raw raw,
                     std::shared_ptr<Metrics> metrics)
    : env_(env), instance_(std::move(instance)), metrics_(std::move(metrics)) {
  if (!observer) return;
  sink_ = std::make_shared<Sink const>(Sink{instance_, std::move(observer), std::move(raw)});
}

void Telemetry::tell(Observation seen, Name const& name, Owner const& owner) const noexcept {
  if (metrics_ && seen.operation == Observation::Operation::acquire) {
    auto const result = seen.reason == Reason::none ? "ok" : to_string(seen.reason);
    metrics_->book().wait.with({{"instance", instance_}, {"result", result}}).observe(seen.took);
  }
  if (sink_) sink_->tell(std::move(seen), name, owner);
}

void Telemetry::kept(KeptLease const&) {
  if (metrics_) metrics_->book().held.with({{"instance", instance_}}).add();
}

void Telemetry::dropped(KeptLease const& lease, LossReason why) {
  bool const lost = why != LossReason::released && why != LossReason::closed;
  if (metrics_) {
    auto& book = metrics_->book();
    book.held.with({{"instance", instance_}}).add(-1);
    book.hold.with({{"instance", instance_}}).observe(env_.now() - lease.since());
    if (lost) book.lost.with({{"instance", instance_}, {"reason", to_string(why)}}).add();
  }
  if (lost && sink_) tell_lost(lease, why);
}

void Telemetry::renewed(Nanos lag) {
  if (metrics_) metrics_->book().renew_lag.with({{"instance", instance_}}).observe(lag);
}

void Telemetry::at_risk() {
  if (metrics_) metrics_->book().at_risk.with({{"instance", instance_}}).add();
}

/// On the thread for the user's code: this may be one of ours.
void Telemetry::tell_lost(KeptLease const& lease, LossReason why) const {
  Observation seen;
  seen.operation = Observation::Operation::lost;
  seen.result = Observation::Result::fail;
  seen.reason = why == LossReason::expired ? Reason::expired : Reason::not_found;
  seen.loss = why;
  seen.fence = lease.fence();
  seen.held = env_.now() - lease.since();
  env_.call_user([sink = sink_, seen, name = lease.name(), owner = lease.owner()] {
    sink->tell(seen, name, owner);
  });
}

Call::Call(Telemetry const& telemetry, Operation operation, Name const& name,
           std::optional<Owner> owner) {
  if (!telemetry.on()) return;
  state_ = State{&telemetry, {}, name, std::move(owner).value_or(Owner()), telemetry.now(), {}};
  state_->seen.operation = operation;
}

Call::Call(Telemetry const& telemetry, Operation operation, KeptLease const& lease)
    : Call(telemetry, operation, lease.name(), lease.owner()) {
  if (!state_) return;
  state_->seen.fence = lease.fence();
  if (operation == Operation::release) state_->held_since = lease.since();
}

void Call::tell(Reason reason, Owner const& owner, Fence fence) const noexcept {
  if (!state_) return;
  auto seen = state_->seen;
  auto const now = state_->telemetry->now();
  seen.reason = reason;
  seen.result = reason == Reason::none ? Observation::Result::ok : Observation::Result::fail;
  seen.took = now - state_->started;
  if (state_->held_since) seen.held = now - *state_->held_since;
  if (fence != Fence()) seen.fence = fence;
  state_->telemetry->tell(std::move(seen), state_->name, owner.empty() ? state_->owner : owner);
}

void Call::ended(std::expected<std::shared_ptr<KeptLease>, Busy> const& answer) const noexcept {
  if (!state_) return;
  if (answer) {
    tell(Reason::none, (*answer)->owner(), (*answer)->fence());
  } else {
    tell(Reason::locked, {}, {});
  }
}

void Call::ended(std::expected<void, Lost> const& answer) const noexcept {
  tell(answer ? Reason::none : reason_of(answer.error()), {}, {});
}

void Call::ended(std::optional<LeaseInfo> const& answer) const noexcept {
  if (answer) {
    tell(Reason::none, answer->owner, answer->fence);
  } else {
    tell(Reason::not_found, {}, {});
  }
}

void Call::failed() const noexcept { tell(Reason::error, {}, {}); }

}  // namespace holt::client
