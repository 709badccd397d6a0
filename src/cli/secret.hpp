// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passwords in URLs of stores: found, and hidden from everything that is printed.

#include <string>
#include <string_view>

namespace holt::cli {

/// True for scheme://user:password@host and for ...?password=....
[[nodiscard]] bool has_password(std::string_view text);

/// The text with *** in place of every password in it.
[[nodiscard]] std::string without_passwords(std::string_view text);

}  // namespace holt::cli
