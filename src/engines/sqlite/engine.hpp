// SPDX-License-Identifier: Apache-2.0
#pragma once
// The embedded engine: a SQLite file on a local disk, shared by all processes of one machine, with
// nothing to install or run. README.md in this folder says how it works and what it promises.

#include "contracts/engine.hpp"
#include "contracts/migrations.hpp"

#include <memory>

namespace holt::sqlite {

/// Opens the store at `options.url` (`sqlite:...` or a plain path). As open_engine().
[[nodiscard]] std::unique_ptr<Engine> open(Env& env, EngineOptions const& options);

/// As holt::migrate().
[[nodiscard]] StoreMigrations migrate(Env& env, EngineOptions const& options, bool dry_run);

}  // namespace holt::sqlite
