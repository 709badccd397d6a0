// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interop layout `syncguard`: the keys and values of SyncGuard 2.5, so that a C++ program can
// join a fleet that runs it; and `syncguard-19`, those of its first published description. All in
// which the two differ is in the table in syncguard_layout.cpp.
//
// What a name has, for a name `resource:123` and the prefix `syncguard`:
//   syncguard:resource:123                    string  JSON {key, lockId, fence, acquiredAtMs,
//                                                     expiresAtMs}, PX ttl
//   syncguard:id:{lockId}                     string  the key above, the same PX
//   syncguard:fence:syncguard:resource:123    string  the counter, for ever
//
// No I/O here. Lengths are bytes of UTF-8 unless said otherwise.

#include "base/syncguard.hpp"

#include <holt/name.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holt::redis {

/// A layout as data.
struct SyncguardLayout {
  std::string_view name;  ///< as the store's address says it
  /// The key for `key` (in normal form) under `prefix`; throws InvalidArgument when none fits.
  std::string (*key)(std::string_view prefix, std::string_view key);
  /// The counter's key and the index's value are made of the whole key of the lock; if not, of the
  /// name alone.
  bool of_whole_key;
  SyncguardFences fences;
};

/// Null: there is no such layout.
[[nodiscard]] SyncguardLayout const* find_syncguard_layout(std::string_view name);
/// The names of all, for people.
inline constexpr std::string_view syncguard_layouts = "syncguard, syncguard-19";

inline constexpr std::string_view syncguard_prefix = "syncguard";

/// `prefix:key`, or `prefix:` and a hash of it where that with `reserve` is longer than `limit`.
[[nodiscard]] std::string syncguard_key(std::string_view prefix, std::string_view key,
                                        std::size_t limit, std::size_t reserve);

/// SyncGuard's name for a key where it is not to be told: 24 hex digits of its UTF-16.
[[nodiscard]] std::string syncguard_hash(std::string_view key);

/// The keys of a fleet.
class SyncguardKeys {
 public:
  /// Throws InvalidArgument for a prefix that is too long, or that SyncGuard refuses.
  SyncguardKeys(SyncguardLayout const& layout, std::string prefix);

  [[nodiscard]] SyncguardLayout const& layout() const { return *layout_; }
  [[nodiscard]] std::string const& prefix() const { return prefix_; }

  /// Throws InvalidArgument for a name whose key could be another lock's index or counter.
  void check(Name const& name) const;

  [[nodiscard]] std::string lock(std::string_view name) const;
  [[nodiscard]] std::string index(std::string_view lock_id) const;
  [[nodiscard]] std::string counter(std::string_view name) const;
  /// What the index of a holder of this name says.
  [[nodiscard]] std::string indexed(std::string_view name) const;

  /// A pattern for SCAN that fits all locks whose names start so, and maybe more.
  [[nodiscard]] std::string pattern(std::string_view name_start) const;
  /// The name in a lock's key, or the hash in its place; nothing: the key is an index or counter.
  [[nodiscard]] std::optional<std::string_view> name_in(std::string_view key) const;
  /// Whether no name can be so long that its key is a hash.
  [[nodiscard]] bool never_cut() const { return never_cut_; }

 private:
  SyncguardLayout const* layout_;
  std::string prefix_;
  std::string head_;  ///< what all keys start with
  bool never_cut_;
};

}  // namespace holt::redis
