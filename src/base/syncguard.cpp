// SPDX-License-Identifier: Apache-2.0
#include "base/syncguard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace holt {

using std::chrono::milliseconds;

Capabilities syncguard_capabilities() {
  return {.fencing = true,
          .time = TimeAuthority::server,
          .waiting = Waiting::polling,
          .durability = Durability::single,
          .notes = false,
          .embedded = false};
}

std::string_view syncguard_lock_id(Owner const& owner) {
  auto const text = std::string_view(owner.text());
  return text.substr(std::min(owner.inbox().size() + 1, text.size()));
}

std::optional<Owner> syncguard_owner(std::string_view lock_id) {
  auto owner = Owner::parse(fmt::format("{}.{}", syncguard_inbox, lock_id));
  if (!owner) return std::nullopt;
  return std::move(*owner);
}

std::int64_t syncguard_ms(std::chrono::nanoseconds span) {
  constexpr std::int64_t longest = std::int64_t{1} << 42U;
  return std::clamp<std::int64_t>(std::chrono::ceil<milliseconds>(span).count(), 1, longest);
}

std::optional<Fence> parse_syncguard_fence(std::string_view digits) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return Fence(value);
}

std::string syncguard_warning(Fence fence, SyncguardFences const& fences) {
  if (fence <= fences.warn_above) return {};
  return fmt::format("fence {} of at most {}: change the lock's name before they end",
                     fence.decimal(), fences.last.decimal());
}

std::string syncguard_used_up(Name const& name, SyncguardFences const& fences) {
  return fmt::format("the fences of \"{}\" are used up: its counter has reached {}", name.text(),
                     fences.last.decimal());
}

std::optional<LeaseInfo> syncguard_info(SyncguardLock const& lock) {
  auto owner = syncguard_owner(lock.lock_id);
  auto name = Name::parse(lock.name);
  auto const fence = parse_syncguard_fence(lock.fence);
  if (!owner || !name || !fence) return std::nullopt;
  return LeaseInfo{
      .name = std::move(*name),
      .owner = std::move(*owner),
      .fence = *fence,
      .offered = false,
      .acquired_at = std::chrono::system_clock::time_point(milliseconds(lock.acquired_ms)),
      .ttl = milliseconds(lock.ttl_ms),
      .expires_in = milliseconds(std::max<std::int64_t>(lock.left_ms, 0)),
      .waiting = 0,
      .note = {},
      .broken = {}};
}

Busy syncguard_busy(std::string_view lock_id, std::string_view fence, std::int64_t left_ms) {
  Busy busy;
  busy.holder = syncguard_owner(lock_id).value_or(Owner());
  busy.fence = parse_syncguard_fence(fence).value_or(Fence());
  busy.expires_in = milliseconds(left_ms);
  return busy;
}

std::expected<void, Lost> syncguard_answer(std::int64_t code) {
  if (code == 1) return {};
  return std::unexpected(Lost{code == -2 ? LossReason::expired : LossReason::taken, {}});
}

}  // namespace holt
