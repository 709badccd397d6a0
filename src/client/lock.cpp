// SPDX-License-Identifier: Apache-2.0
#include <holt/lock.hpp>

#include "client/core.hpp"

#include <utility>

namespace holt {

Lock::Lock(std::shared_ptr<client::HeldLease> held) noexcept : held_(std::move(held)) {}
Lock::Lock(Lock&& other) noexcept = default;
Lock& Lock::operator=(Lock&& other) noexcept = default;
Lock::~Lock() = default;

Name const& Lock::name() const noexcept { return held_->lease()->name(); }
Owner const& Lock::owner() const noexcept { return held_->lease()->owner(); }
Fence Lock::fence() const noexcept { return held_->lease()->fence(); }
Handle Lock::handle() const { return {name(), owner()}; }
bool Lock::held() const noexcept { return held_->lease()->held(BootClock::now()); }
Instant Lock::deadline() const noexcept { return held_->lease()->deadline(); }
std::stop_token Lock::lost() const noexcept { return held_->lease()->lost(); }

LossReason Lock::loss() const noexcept {
  if (held()) return LossReason::none;
  if (held_->core().forked()) return LossReason::closed;
  auto const loss = held_->lease()->loss();
  return loss == LossReason::none ? LossReason::expired : loss;
}

void Lock::on_at_risk(std::function<void()> callback) {
  held_->lease()->on_at_risk(std::move(callback));
}

std::expected<void, Lost> Lock::extend(std::chrono::milliseconds ttl) {
  return held_->core().run(held_->core().extend(held_->lease(), ttl));
}

std::expected<void, Lost> Lock::release() {
  auto& core = held_->core();
  return core.run(core.release(held_->lease(), core.timeout()));
}

Handle Lock::detach() {
  held_->core().detach(*held_->lease());
  return handle();
}

}  // namespace holt
