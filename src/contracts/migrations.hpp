// SPDX-License-Identifier: Apache-2.0
#pragma once
// Migrating a store apart from opening it. An engine whose stores have tables gives such a
// function; for one without there is nothing to migrate.

#include "contracts/engine.hpp"
#include "contracts/env.hpp"

#include <holt/migration.hpp>

#include <string>
#include <utility>

namespace holt {

/// As holt::migrate(), for the store that `options` names. Blocks; never called on
/// Env::executor(). The instance does not matter: all of a store share its tables.
using MigrateStore = StoreMigrations (*)(Env& env, EngineOptions const& options, bool dry_run);

/// Picks the engine by the scheme of the URL, as open_engine() does.
StoreMigrations migrate_store(Env& env, EngineOptions const& options, bool dry_run);

/// What to say of a store that had version `before` when `known`, an engine's own migrations in
/// order, were (`applied`) or would be applied to it.
template <class Known>
StoreMigrations migrations_of(std::string url, Known const& known, int before, bool applied) {
  StoreMigrations found;
  found.url = std::move(url);
  found.before = found.version = before;
  found.known = known.back().number;
  for (auto const& one : known) {
    auto const missing = applied ? MigrationState::applied_now : MigrationState::pending;
    auto const digits = "00" + std::to_string(one.number);
    found.migrations.push_back({one.number,
                                digits.substr(digits.size() - 3) + "_" + std::string(one.name),
                                one.number <= before ? MigrationState::applied : missing});
  }
  for (int number = found.known + 1; number <= before; ++number) {
    found.migrations.push_back({number, {}, MigrationState::applied});
  }
  if (applied && before < found.known) found.version = found.known;
  return found;
}

}  // namespace holt
