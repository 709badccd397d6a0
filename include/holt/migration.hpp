// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of a store have a version, which migrations bring forward. open() does that by itself
// unless the store's address says `migrate=no`; migrate() is for who wants it as a step of its own,
// run by somebody with more rights than the programs that use the store.

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {

enum class MigrationState {
  applied,      ///< the store had it already
  pending,      ///< it was only looked at (dry_run)
  applied_now,  ///< by this call
};
[[nodiscard]] std::string_view to_string(MigrationState state) noexcept;

/// One step from a version to the next.
struct Migration {
  int number = 0;    ///< the version that it leads to
  std::string name;  ///< "001_leases"; empty: of a newer Holt, which this one does not know
  MigrationState state = MigrationState::applied;
};

/// What a store has and what this Holt wants there.
struct StoreMigrations {
  std::string url;         ///< without secrets
  bool has_tables = true;  ///< false: this kind of store has none, and nothing to migrate
  int before = 0;          ///< the version that was found; 0: there was no store yet
  int version = 0;         ///< the version now
  int known = 0;           ///< the last migration that this Holt knows
  std::vector<Migration> migrations;  ///< in order

  [[nodiscard]] bool is_current() const noexcept { return version >= known; }
};

/// Trivially destructible on purpose: docs/adr/0005-coroutine-rules.md.
struct MigrateOptions {
  bool dry_run = false;  ///< looks and changes nothing; a store that is not there is not made
};
static_assert(std::is_trivially_destructible_v<MigrateOptions>);

/// Makes the tables of the store at `url` (as in open()) or brings them to the newest version that
/// this Holt knows: in one transaction, and once, however many do so at the same time. Programs
/// that use the store go on meanwhile. `migrate=no` in the address does not stop it.
/// Throws InvalidArgument, and EngineError: not reachable, not allowed (the text names the role),
/// or made by a Holt that is too new for this one.
StoreMigrations migrate(std::string_view url = {}, MigrateOptions options = {});

}  // namespace holt
#pragma GCC visibility pop
