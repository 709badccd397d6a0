// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options behind the '?' of a store's address that are not about its server, but about what is
// stored there: they are taken out before the rest is looked at.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace holt::redis {

using QueryOptions = std::map<std::string, std::string, std::less<>>;

/// Takes those with these names out of the address, with their values decoded. An address whose
/// '?' may be part of a password is left alone: parse_place() refuses it. Throws InvalidArgument.
[[nodiscard]] QueryOptions take_query_options(std::string& url,
                                              std::span<std::string_view const> names);

/// Throws InvalidArgument, in the words of all errors about an address.
[[noreturn]] void refuse_layout(std::string const& why);

/// `text` as it can be in a query.
[[nodiscard]] std::string query_text(std::string_view text);

}  // namespace holt::redis
