// SPDX-License-Identifier: Apache-2.0
#pragma once
// What may stand behind the '?' of a store's address beside what libpq knows.

#include "engines/postgres/place.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::postgres {

using Options = std::vector<std::pair<std::string, std::string>>;

/// Whether an option is ours.
[[nodiscard]] bool is_option(std::string_view name);

/// Takes options of ours; the place has its settings. Throws InvalidArgument, whose text has no
/// secret.
void apply_options(Place& place, Options const& given);

/// Throws InvalidArgument with what every error about an address says.
[[noreturn]] void refuse_address(std::string_view why);

/// The same settings at other hosts, `host[:port],...`. Throws InvalidArgument.
[[nodiscard]] Settings at_hosts(Settings settings, std::string_view hosts);

}  // namespace holt::postgres
