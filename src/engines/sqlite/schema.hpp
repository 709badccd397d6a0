// SPDX-License-Identifier: Apache-2.0
#pragma once
// Opens the file as a Holt store: recognises it, makes or migrates its tables, and voids what
// another boot of the machine left. A store that is as it should be costs one read and no write.

#include "contracts/env.hpp"
#include "engines/sqlite/connection.hpp"
#include "engines/sqlite/place.hpp"

#include <memory>

namespace holt::sqlite {

/// "Holt" in the header of the file: tells a store from other SQLite files.
inline constexpr int application_id = 0x486F6C74;

/// Opens the prepared place. Throws EngineError: not a store of ours (which is left as it is),
/// damaged, made by a newer version that this one cannot read, or locked by somebody.
[[nodiscard]] std::unique_ptr<Connection> open_store(Env& env, Place const& place);

}  // namespace holt::sqlite
