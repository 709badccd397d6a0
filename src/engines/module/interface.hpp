// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an engine module and the library say to each other (docs/adr/0007-engine-modules.md).
// A module is a shared object with one function of C linkage that anybody may look up:
//   extern "C" [[gnu::visibility("default")]]
//   holt::EngineModule const* holt_engine_module() noexcept;
// The first two members stay where they are in every release, so that any release can refuse any
// other with both numbers. Beyond them only the very same release is understood.

#include "contracts/engine.hpp"
#include "contracts/migrations.hpp"

#include <boost/asio/version.hpp>

#include <cstdint>
#include <memory>

namespace holt {

struct EngineModule {
  char const* version;  ///< Holt's, "0.1.0"; exactly the loader's, or nothing else is looked at
  std::uint32_t asio;   ///< BOOST_ASIO_VERSION: coroutines cross the border
  /// As open_engine(). The engine must run on loops of its own: EngineOnOwnLoop does that.
  std::unique_ptr<Engine> (*open)(Env& env, EngineOptions const& options);
  MigrateStore migrate = nullptr;  ///< null: its stores have no tables
};

using EngineModuleFunction = EngineModule const* (*)() noexcept;
inline constexpr char const* engine_module_function = "holt_engine_module";

}  // namespace holt
