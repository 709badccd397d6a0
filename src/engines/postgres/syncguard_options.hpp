// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interop layout `syncguard` on PostgreSQL: the tables of SyncGuard 2.5, so that a C++ program
// can join a fleet that runs it. The options of an address that ask for it, and its names.
//
// What a name has, for a name `resource:123`:
//   syncguard_locks           key and user_key `resource:123`, lock_id, fence (15 digits),
//                             acquired_at_ms, expires_at_ms
//   syncguard_fence_counters  fence_key `fence:resource:123`, fence, key_debug; for ever
// The tables are quoted names in the search_path, as with SyncGuard.

#include "base/syncguard.hpp"

#include <holt/name.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace holt::postgres {

inline constexpr std::string_view syncguard_layout = "syncguard";

// SyncGuard puts a hash in the place of a key above this many bytes. No name is as long, so here a
// key is always the name itself, and no two names have one key.
inline constexpr std::size_t syncguard_longest_key = 1700;
static_assert(syncguard_counter_start.size() + Name::max_bytes <= syncguard_longest_key);

struct SyncguardOptions {
  std::string layout;  ///< empty: Holt's own
  std::string locks = "syncguard_locks";
  std::string counters = "syncguard_fence_counters";
  bool cleanup = false;  ///< a look at a name removes a lock of it that ended and is still there
  bool said = false;     ///< something of this was in the address

  [[nodiscard]] explicit operator bool() const { return !layout.empty(); }
};

/// Takes an option of the layout; false: it is none. Throws InvalidArgument.
bool apply_syncguard_option(SyncguardOptions& options, std::string_view name,
                            std::string const& value);
/// Throws InvalidArgument when the options do not go together.
void check_syncguard_options(SyncguardOptions const& options);

/// What an address says of it: "layout=syncguard", and what is not as usual.
[[nodiscard]] std::string to_query(SyncguardOptions const& options);

/// The key of a name's counter.
[[nodiscard]] std::string syncguard_counter(Name const& name);

}  // namespace holt::postgres
