// SPDX-License-Identifier: Apache-2.0
#pragma once
// The PostgreSQL engine: README.md beside this file.

#include "contracts/engine.hpp"
#include "contracts/migrations.hpp"

#include <memory>

namespace holt::postgres {

/// See open_engine(). Connects, and makes or updates the schema where that is needed; throws
/// EngineError when that fails.
std::unique_ptr<Engine> open(Env& env, EngineOptions const& options);

/// As holt::migrate().
StoreMigrations migrate(Env& env, EngineOptions const& options, bool dry_run);

}  // namespace holt::postgres
