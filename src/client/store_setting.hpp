// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which store is meant, and what of OpenOptions is refused: for all that opens one.

#include <holt/error.hpp>
#include <holt/open.hpp>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

namespace holt::client {

/// What was given, else the variable, else the default. An empty variable counts as not set.
inline std::string first_of(std::string_view given, char const* variable,
                            std::string_view otherwise) {
  if (!given.empty()) return std::string(given);
  char const* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? std::string(value) : std::string(otherwise);
}

inline std::string store_url(std::string_view given) {
  return first_of(given, "HOLT_STORE", "sqlite:");
}

inline void check_timeout(OpenOptions const& options) {
  if (options.timeout > std::chrono::milliseconds(0)) return;
  throw InvalidArgument("a timeout must be above zero");
}

}  // namespace holt::client
