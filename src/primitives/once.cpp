// SPDX-License-Identifier: Apache-2.0
#include "primitives/once.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace holt {
namespace {

using std::chrono::milliseconds;

// The form of the text: started_ms period_ms fence, then the note, a line each.
constexpr std::string_view form = "once 1";

/// Names may be as long as keys may be, so the key has the name's hash.
std::string key_of(Name const& name) { return "once/" + name.hash(); }

/// Cuts the next line off `text`.
std::string_view cut_line(std::string_view& text) {
  auto const line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

template <class Integer>
bool cut_number(std::string_view& text, Integer& into) {
  std::string const line(cut_line(text));
  auto const* const begin = line.data();
  auto const* const end = begin + line.size();
  auto const read = std::from_chars(begin, end, into);
  return read.ec == std::errc() && read.ptr == end && !line.empty();
}

}  // namespace

std::string to_text(CountedRun const& run) {
  auto const started = std::chrono::floor<milliseconds>(run.started_at.time_since_epoch());
  return fmt::format("{}\n{}\n{}\n{}\n{}", form, started.count(), run.period.count(),
                     run.fence.value(), run.note);
}

std::optional<CountedRun> parse_run(std::string_view text) {
  std::int64_t started = 0;
  std::int64_t period = 0;
  std::uint64_t fence = 0;
  if (cut_line(text) != form || !cut_number(text, started) || !cut_number(text, period) ||
      !cut_number(text, fence)) {
    return std::nullopt;
  }
  return CountedRun{std::chrono::system_clock::time_point(milliseconds(started)),
                    milliseconds(period), Fence(fence), std::string(text)};
}

/// A record that cannot be read counts all the same: it is there because something ran.
asio::awaitable<std::optional<CountedRun>> Once::last(Name name, Instant deadline) {
  auto const record = co_await records_.get(key_of(name), deadline);
  if (!record) co_return std::nullopt;
  co_return parse_run(record->value).value_or(CountedRun());
}

asio::awaitable<bool> Once::count(Name name, CountedRun run, Instant started, Instant deadline) {
  auto const left = run.period - (env_.now() - started);
  if (left <= std::chrono::nanoseconds(0)) co_return true;
  RecordWrite write(key_of(name), to_text(run));
  write.ttl = left;
  write.expected = 0;
  auto const written = co_await records_.put(std::move(write), deadline);
  co_return written.has_value();
}

}  // namespace holt
