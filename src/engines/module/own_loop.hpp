// SPDX-License-Identifier: Apache-2.0
#pragma once
// EngineOnOwnLoop: what makes an engine fit for a module.
// A module brings its own copy of Asio and shares no symbol with whoever loads it. Asio remembers
// in thread-local variables which loop a thread runs, and each copy has its own: a socket made by
// our copy must not live on a loop that the other copy runs. So the engine gets an Env whose
// executor() and blocking() are loops of ours, with threads of ours; clock, timers, randomness and
// the thread for user code stay the loader's. Calls hop to our loop and their results back, unless
// who calls runs there already (Home); a caller who waits may run our loop itself (SharedLoop).
// Handlers of signals are called on our loop, others on the loader's executor().

#include "contracts/engine.hpp"

#include <memory>

namespace holt {

using OpenEngine = std::unique_ptr<Engine> (*)(Env& env, EngineOptions const& options);

/// Opens the engine with `open` and wraps it. Throws what `open` throws.
std::unique_ptr<Engine> open_on_own_loop(OpenEngine open, Env& env, EngineOptions const& options);

}  // namespace holt
