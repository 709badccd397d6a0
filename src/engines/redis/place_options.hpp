// SPDX-License-Identifier: Apache-2.0
#pragma once
// What may stand behind the '?' of a store's address.

#include "engines/redis/place.hpp"

#include <string>
#include <string_view>

namespace holt::redis {

/// Throws InvalidArgument, whose text has no secret: an option that this kind of place does not
/// have, or a value that it cannot have.
void apply_option(Place& place, std::string const& name, std::string const& value);

/// After the last option: throws InvalidArgument when they do not fit together.
void check_options(Place const& place);

/// Throws InvalidArgument with what every error about an address says.
[[noreturn]] void refuse_address(std::string_view why);

/// Throws InvalidArgument, which does not show the text: it may be a part of a password that was
/// not encoded.
[[nodiscard]] int number_in_address(std::string_view text, std::string_view what, int low,
                                    int high);

inline constexpr int max_database = 1'000'000;

}  // namespace holt::redis
