// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interop layout `syncguard`: what is the same in it on every kind of store. A lock of
// SyncGuard has a name, a lock id of 22 characters, a fence that is text of a fixed width, and two
// times in ms; it lives a little longer than it says, and each name has a counter for ever.
// Where an engine puts all that: engines/redis/syncguard_layout.hpp, engines/postgres/README.md.

#include <holt/capabilities.hpp>
#include <holt/fence.hpp>
#include <holt/lease.hpp>
#include <holt/name.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace holt {

/// How the fences of a revision of the layout are written, and where they end.
struct SyncguardFences {
  unsigned digits;   ///< zero padded, so that they can be compared as text
  Fence last;        ///< no grant has a higher one
  Fence warn_above;  ///< grants above it come with a warning
};

/// Of SyncGuard 2.5.
inline constexpr SyncguardFences syncguard_fences{
    .digits = 15, .last = Fence(900'000'000'000'000), .warn_above = Fence(90'000'000'000'000)};

/// What the key of a counter starts with; the key of the lock is behind it.
inline constexpr std::string_view syncguard_counter_start = "fence:";

/// The inbox of every owner here: there is no other part of an owner on the wire than its lock id.
inline constexpr std::string_view syncguard_inbox = "syncguard";

/// Server's clock, a counter per name, no line.
[[nodiscard]] Capabilities syncguard_capabilities();

/// The part of an owner that is on the wire.
[[nodiscard]] std::string_view syncguard_lock_id(Owner const& owner);
/// The owner with this lock id; nothing if that is none.
[[nodiscard]] std::optional<Owner> syncguard_owner(std::string_view lock_id);

/// A ttl in whole ms, never less than asked for. Whatever a caller thinks "for ever" is: SyncGuard
/// writes times in 14 digits.
[[nodiscard]] std::int64_t syncguard_ms(std::chrono::nanoseconds span);

/// Nothing: no fence.
[[nodiscard]] std::optional<Fence> parse_syncguard_fence(std::string_view digits);

/// What a grant with this fence is told; mostly nothing.
[[nodiscard]] std::string syncguard_warning(Fence fence, SyncguardFences const& fences);
/// Why there are no more fences for a name, and what to do.
[[nodiscard]] std::string syncguard_used_up(Name const& name, SyncguardFences const& fences);
inline constexpr std::string_view syncguard_used_up_hint =
    "use another name for this lock, in all programs at once";

/// A lock as it is stored.
struct SyncguardLock {
  std::string_view lock_id;
  std::string_view name;
  std::string_view fence;
  std::int64_t acquired_ms;  ///< since 1970
  std::int64_t ttl_ms;       ///< from the grant to the end that it says
  std::int64_t left_ms;      ///< until somebody else can have it
};
/// Nothing: not what SyncGuard writes.
[[nodiscard]] std::optional<LeaseInfo> syncguard_info(SyncguardLock const& lock);
/// Whoever wrote it, the name is taken.
[[nodiscard]] Busy syncguard_busy(std::string_view lock_id, std::string_view fence,
                                  std::int64_t left_ms);

/// What an owner is told: SyncGuard's codes 1 done, 0 not of this owner, -1 there is none, -2
/// ended.
[[nodiscard]] std::expected<void, Lost> syncguard_answer(std::int64_t code);

}  // namespace holt
