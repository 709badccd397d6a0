// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds and loads engine modules. A module for the scheme `redis`, `redis+anything` or `rediss` is
// the file holt-engine-redis.so, looked for in the folders of HOLT_ENGINE_PATH (separated by
// colons) if that is set, else in holt/engines beside the library, or in ../lib/holt/engines (in a
// build tree lib/holt/engines) seen from the program when Holt is linked into that. What is loaded
// is never closed: code of it may be on some thread's stack.

#include "engines/module/interface.hpp"

#include <string_view>

namespace holt {

/// The module for `scheme`, which stays loaded.
/// Throws EngineError: there is no such module (the text names the file, the hint the package), it
/// is no module or of another version, or users other than its owner and root could change it.
/// `built_in` is told to the user as what there is without modules.
EngineModule const& module_for(std::string_view scheme, std::string_view built_in);

}  // namespace holt
