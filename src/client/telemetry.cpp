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

Telemetry::Telemetry(Env& env, std::string instance, Observer observer, Raw raw) : env_(env) {
  if (!observer) return;
  sink_ =
      std::make_shared<Sink const>(Sink{std::move(instance), std::move(observer), std::move(raw)});
}

void Telemetry::tell(Observation seen, Name const& name, Owner const& owner) const noexcept {
  if (sink_) sink_->tell(std::move(seen), name, owner);
}

void Telemetry::tell_lost(KeptLease const& lease, LossReason why) const {
  if (!sink_) return;
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
