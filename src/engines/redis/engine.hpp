// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Redis engine: README.md beside this file.

#include "contracts/engine.hpp"

#include <memory>

namespace holt::redis {

/// See open_engine(). Connects; throws EngineError when that fails.
std::unique_ptr<Engine> open(Env& env, EngineOptions const& options);

}  // namespace holt::redis
