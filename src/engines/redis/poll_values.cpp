// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/poll_values.hpp"

#include "contracts/polling_names.hpp"

#include <holt/error.hpp>
#include <holt/name.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace holt::redis {
namespace {

using std::chrono::nanoseconds;
using std::chrono::system_clock;

constexpr std::size_t fraction_digits = 9;
constexpr std::size_t longest_status = 64;

bool is_status(std::string_view text) {
  return !text.empty() && text.size() <= longest_status && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

/// Reads a text piece by piece; what does not fit makes it wrong for good.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : rest_(text) {}

  bool skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) { fine_ = skip(c) && fine_; }
  int number(std::size_t digits, int highest) {
    int value = 0;
    auto const text = rest_.substr(0, digits);
    auto const [end, error] = std::from_chars(text.begin(), text.end(), value);
    bool const fits = error == std::errc() && end == text.end() && text.size() == digits;
    fine_ = fine_ && fits && value >= 0 && value <= highest;
    rest_.remove_prefix(text.size());
    return value;
  }
  /// The digits behind the point.
  nanoseconds fraction() {
    auto const size = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    fine_ = fine_ && size >= 1 && size <= fraction_digits;
    std::string digits(rest_.substr(0, std::min(size, fraction_digits)));
    digits.resize(fraction_digits, '0');
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    rest_.remove_prefix(size);
    return nanoseconds(value);
  }
  [[nodiscard]] bool at_end() const { return fine_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool fine_ = true;
};

std::chrono::minutes zone_in(Pieces& text) {
  if (text.skip('Z')) return {};
  bool const east = text.skip('+');
  if (!east) text.expect('-');
  std::chrono::minutes zone = std::chrono::hours(text.number(2, 23));
  text.expect(':');
  zone += std::chrono::minutes(text.number(2, 59));
  return east ? zone : -zone;
}

}  // namespace

std::string go_time(system_clock::time_point when) {
  auto const days = std::chrono::floor<std::chrono::days>(when);
  std::chrono::year_month_day const date(days);
  std::chrono::hh_mm_ss<nanoseconds> const time(when - days);
  auto text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                          static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                          time.hours().count(), time.minutes().count(), time.seconds().count());
  if (time.subseconds().count() > 0) {
    text += fmt::format(".{:09}", time.subseconds().count());
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + 'Z';
}

std::optional<system_clock::time_point> parse_go_time(std::string_view text) {
  // Times are counted in nanoseconds, until the year 2262.
  constexpr int first_year = 1678;
  constexpr int last_year = 2261;
  Pieces pieces(text);
  std::chrono::year const year(pieces.number(4, last_year));
  pieces.expect('-');
  std::chrono::month const month(static_cast<unsigned>(pieces.number(2, 12)));
  pieces.expect('-');
  std::chrono::day const day(static_cast<unsigned>(pieces.number(2, 31)));
  pieces.expect('T');
  nanoseconds time = std::chrono::hours(pieces.number(2, 23));
  pieces.expect(':');
  time += std::chrono::minutes(pieces.number(2, 59));
  pieces.expect(':');
  time += std::chrono::seconds(pieces.number(2, 60));
  if (pieces.skip('.')) time += pieces.fraction();
  time -= zone_in(pieces);
  std::chrono::year_month_day const date(year, month, day);
  if (!pieces.at_end() || !date.ok() || static_cast<int>(year) < first_year) return std::nullopt;
  return system_clock::time_point(std::chrono::sys_days(date)) + time;
}

std::string go_json(std::string_view text) {
  std::string json = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    auto const byte = static_cast<unsigned char>(c);
    auto const three = text.substr(i, 3);
    if (c == '"' || c == '\\') {
      json.append(1, '\\').append(1, c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      json += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (byte < 0x20 || c == '<' || c == '>' || c == '&') {
      json += fmt::format("\\u{:04x}", byte);
    } else if (three == "\xE2\x80\xA8" || three == "\xE2\x80\xA9") {
      json += three.back() == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      json += c;
    }
  }
  return json += '"';
}

std::string status_in(std::string_view note) {
  auto const status = note.substr(0, note.find(' '));
  if (is_status(status)) return std::string(status);
  throw InvalidArgument(
      fmt::format("a node's note \"{}\" is not possible with layout={}: it begins with the node's "
                  "status, as in \"{} 1\"",
                  note, poll_layout, node_online));
}

std::string node_note(std::string_view status) {
  return std::string(is_status(status) ? status : node_init).append(" 1");
}

std::optional<PollName> poll_name(std::string_view text, std::string_view start) {
  if (!text.starts_with(start)) return std::nullopt;
  auto const rest = text.substr(start.size());
  auto const slash = std::min(rest.find('/'), rest.size());
  PollName const name{rest.substr(0, slash), rest.substr(std::min(slash + 1, rest.size()))};
  if (!name.group.empty() && !name.id.empty()) return name;
  throw InvalidArgument(
      fmt::format("\"{}\" is not possible with layout={}, where what begins with \"{}\" is the "
                  "fleet's: write {}GROUP/ID",
                  text, poll_layout, start, start));
}

bool is_name(std::string_view text) {
  auto const name = Name::parse(text);
  return name && name->text() == text;
}

std::optional<PollRange> poll_range(std::string_view prefix, std::string_view start) {
  auto whole = std::string(start).append(poll_fleet_group).append(1, '/');
  if (whole.starts_with(prefix)) return PollRange{std::move(whole), {}};
  if (!prefix.starts_with(start)) return std::nullopt;
  auto const slash = prefix.find('/', start.size());
  if (slash == std::string_view::npos || slash == start.size()) return std::nullopt;
  return PollRange{std::string(prefix.substr(0, slash + 1)), std::string(prefix.substr(slash + 1))};
}

}  // namespace holt::redis
