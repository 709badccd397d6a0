// SPDX-License-Identifier: Apache-2.0
#include "cli/duration.hpp"

#include "cli/text.hpp"

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

namespace holt::cli {

std::expected<std::chrono::milliseconds, std::string> parse_duration(std::string_view text) {
  auto const parsed = holt::parse_duration(text);
  if (parsed) return *parsed;
  auto const subject = text.empty() ? std::string("the duration") : in_quotes(text);
  return std::unexpected(subject + ' ' + parsed.error());
}

std::string rounded_duration(std::chrono::milliseconds duration) {
  using namespace std::chrono_literals;
  return format_duration(duration < 10s ? duration
                                        : std::chrono::round<std::chrono::seconds>(duration));
}

}  // namespace holt::cli
