// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/poll_options.hpp"

#include "engines/redis/query_options.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::string_view usual_prefix = "poll";
constexpr std::string_view usual_sessions = "session";
constexpr std::string_view own_start = "holt:";
constexpr auto names = std::to_array<std::string_view>({"layout", "prefix", "sessions", "value"});

PollForm form_of(std::string_view value) {
  for (auto const form : {PollForm::json, PollForm::plain}) {
    if (value == to_string(form)) return form;
  }
  refuse_layout(fmt::format("value={} is not possible, only json and plain are", value));
}

/// A key that begins with one would be taken for the other.
bool overlap(std::string_view one, std::string_view other) {
  return one.starts_with(other) || other.starts_with(one);
}

}  // namespace

std::string_view to_string(PollForm form) { return form == PollForm::json ? "json" : "plain"; }

PollOptions::PollOptions(std::string start_of_keys, std::string start_of_sessions, PollForm written)
    : prefix(std::move(start_of_keys)),
      sessions(std::move(start_of_sessions)),
      form(written),
      lease_start(prefix + ":lease:"),
      node_start(prefix + ":node:"),
      lease_side_start(prefix + ":holt:lease:"),
      node_side_start(prefix + ":holt:node:"),
      counter(prefix + ":holt:fence"),
      session_start(sessions + ":"),
      tombstone_start("deleted-" + session_start) {
  if (prefix.empty()) refuse_layout("prefix is empty");
  if (sessions.empty()) refuse_layout("sessions is empty");
  if (lease_start.starts_with(own_start)) {
    refuse_layout(
        fmt::format("prefix \"{}\" is not possible: keys that begin with \"{}\" are Holt's own",
                    prefix, own_start));
  }
  for (auto const& start : {lease_start, node_start, prefix + ":holt:"}) {
    if (!overlap(session_start, start)) continue;
    refuse_layout(
        fmt::format("sessions \"{}\" is not possible beside prefix \"{}\": keys of leases and "
                    "nodes would be taken for endpoints",
                    sessions, prefix));
  }
}

std::optional<PollOptions> take_poll_options(std::string& url) {
  auto rest = url;
  auto const found = take_query_options(rest, names);
  auto const value = [&](std::string_view option, std::string_view otherwise) {
    auto const at = found.find(option);
    return at == found.end() ? std::string(otherwise) : at->second;
  };
  if (value("layout", {}) != poll_layout) {
    for (auto const* const option : {"sessions", "value"}) {
      if (found.contains(option)) refuse_layout(fmt::format("{} needs layout=poll", option));
    }
    return std::nullopt;
  }
  url = std::move(rest);
  return PollOptions(value("prefix", usual_prefix), value("sessions", usual_sessions),
                     form_of(value("value", to_string(PollForm::json))));
}

std::string with_layout(std::string const& url, PollOptions const& options) {
  return fmt::format("{}{}layout={}&prefix={}&sessions={}&value={}", url,
                     url.contains('?') ? '&' : '?', poll_layout, query_text(options.prefix),
                     query_text(options.sessions), to_string(options.form));
}

}  // namespace holt::redis
