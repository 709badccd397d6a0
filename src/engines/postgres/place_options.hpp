// SPDX-License-Identifier: Apache-2.0
#pragma once
// What may stand behind the '?' of a store's address beside what libpq knows.

#include "engines/postgres/place.hpp"

#include <string>
#include <string_view>

namespace holt::postgres {

/// Takes an option of ours; false: it is none. Throws InvalidArgument, whose text has no secret.
bool apply_option(Place& place, std::string_view name, std::string const& value);

/// Throws InvalidArgument with what every error about an address says.
[[noreturn]] void refuse_address(std::string_view why);

/// The same settings at other hosts, `host[:port],...`. Throws InvalidArgument.
[[nodiscard]] Settings at_hosts(Settings settings, std::string_view hosts);

}  // namespace holt::postgres
