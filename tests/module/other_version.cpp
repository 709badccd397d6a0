// SPDX-License-Identifier: Apache-2.0
// A module as another release would have built it: only its version may be looked at.

#include "engines/module/interface.hpp"

extern "C" [[gnu::visibility("default")]] holt::EngineModule const* holt_engine_module() noexcept {
  static constexpr holt::EngineModule module{"9.8.7", BOOST_ASIO_VERSION, nullptr};
  return &module;
}
