// SPDX-License-Identifier: Apache-2.0
#include "client/queue_settings.hpp"

#include "client/store_setting.hpp"

#include <holt/duration.hpp>
#include <holt/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holt::client {
namespace {

using std::chrono::milliseconds;

/// A number and what follows it; nothing if it does not begin with one.
std::optional<std::pair<std::uint32_t, std::string_view>> number_of(std::string_view text) {
  std::uint32_t value = 0;
  auto const [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return std::pair(value, std::string_view(rest, text.data() + text.size()));
}

struct Span {
  char const* variable;
  char const* what;
  milliseconds usual;
  milliseconds least;
  milliseconds most;
  char const* range;
};

milliseconds span(Span const& rule, milliseconds given) {
  if (given != milliseconds(0)) {
    if (given >= rule.least && given <= rule.most) return given;
    throw InvalidArgument(
        fmt::format("{} of {} ms is out of range: use {}", rule.what, given.count(), rule.range));
  }
  auto const set = first_of({}, rule.variable, {});
  if (set.empty()) return rule.usual;
  auto const value = parse_duration(set);
  if (!value) throw InvalidArgument(fmt::format("{}={} {}", rule.variable, set, value.error()));
  if (*value >= rule.least && *value <= rule.most) return *value;
  throw InvalidArgument(
      fmt::format("{}={} is out of range: use {}", rule.variable, set, rule.range));
}

}  // namespace

std::uint32_t queue_workers(std::uint32_t given) {
  constexpr std::uint32_t usual = 5;
  constexpr std::uint32_t most = 1000;
  if (given > most) {
    throw InvalidArgument(
        fmt::format("{} handlers at a time are out of range: use 1 to {}", given, most));
  }
  if (given > 0) return given;
  auto const set = first_of({}, "HOLT_QUEUE_WORKERS", {});
  if (set.empty()) return usual;
  auto const number = number_of(set);
  if (number && number->second.empty() && number->first >= 1 && number->first <= most) {
    return number->first;
  }
  throw InvalidArgument(
      fmt::format("HOLT_QUEUE_WORKERS={} is not possible: use 1 to {}", set, most));
}

milliseconds queue_lock_duration(milliseconds given) {
  constexpr Span rule{"HOLT_QUEUE_LOCK_DURATION", "a ttl",
                      std::chrono::seconds(10),   std::chrono::seconds(1),
                      std::chrono::hours(24),     "1 s to 24 h"};
  return span(rule, given);
}

milliseconds queue_poll_interval(milliseconds given) {
  constexpr Span rule{"HOLT_QUEUE_POLL_INTERVAL", "a poll interval",     std::chrono::seconds(1),
                      milliseconds(10),           std::chrono::hours(1), "10 ms to 1 h"};
  return span(rule, given);
}

}  // namespace holt::client
