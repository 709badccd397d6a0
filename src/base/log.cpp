// SPDX-License-Identifier: Apache-2.0
#include <holt/log.hpp>

#include <string_view>

namespace holt {

std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      return "error";
  }
  return "unknown";
}

}  // namespace holt
