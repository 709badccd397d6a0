// SPDX-License-Identifier: Apache-2.0
// A real engine module of the smallest kind: relay:///path hands everything to the SQLite engine,
// of which this module has a copy of its own.

#include "engines/module/interface.hpp"
#include "engines/module/own_loop.hpp"
#include "engines/sqlite/engine.hpp"

#include <string>

namespace {

holt::EngineOptions relayed(holt::EngineOptions const& options) {
  return {"sqlite" + options.url.substr(options.url.find(':')), options.instance};
}

std::unique_ptr<holt::Engine> open(holt::Env& env, holt::EngineOptions const& options) {
  return holt::open_on_own_loop(holt::sqlite::open, env, relayed(options));
}

holt::StoreMigrations migrate(holt::Env& env, holt::EngineOptions const& options, bool dry_run) {
  return holt::sqlite::migrate(env, relayed(options), dry_run);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] holt::EngineModule const* holt_engine_module() noexcept {
  static constexpr holt::EngineModule module{HOLT_VERSION, BOOST_ASIO_VERSION, open, migrate};
  return &module;
}
