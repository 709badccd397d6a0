// SPDX-License-Identifier: Apache-2.0
// holt-engine-postgres.so: the engine as a module.

#include "engines/module/interface.hpp"
#include "engines/module/own_loop.hpp"
#include "engines/postgres/engine.hpp"

namespace {

std::unique_ptr<holt::Engine> open(holt::Env& env, holt::EngineOptions const& options) {
  return holt::open_on_own_loop(holt::postgres::open, env, options);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] holt::EngineModule const* holt_engine_module() noexcept {
  static constexpr holt::EngineModule module{HOLT_VERSION, BOOST_ASIO_VERSION, open,
                                             holt::postgres::migrate};
  return &module;
}
