// SPDX-License-Identifier: Apache-2.0
#include "cli/wait_progress.hpp"

#include "cli/duration.hpp"
#include "cli/interruptible.hpp"
#include "cli/lease_record.hpp"
#include "cli/progress.hpp"
#include "cli/stream.hpp"
#include "cli/text.hpp"

#include <holt/clock.hpp>
#include <holt/error.hpp>
#include <holt/lease.hpp>
#include <holt/open.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds worth_a_line{1'000};  // a wait whose end a log should have

milliseconds since(Instant start) {
  return std::chrono::floor<milliseconds>(BootClock::now() - start);
}

std::string whole_seconds(milliseconds time) {
  return format_duration(std::chrono::floor<std::chrono::seconds>(time));
}

Busy as_busy(LeaseInfo const& lease) {
  return {.why = Busy::Why::held,
          .holder = lease.owner,
          .fence = lease.fence,
          .expires_in = lease.expires_in,
          .place = 0,
          .note = lease.note};
}

}  // namespace

std::string slow_store_line(Progress form) {
  switch (form) {
    case Progress::quiet:
      return {};
    case Progress::json:
      return "{\"event\":\"waiting_for_store\"}\n";
    case Progress::line:
    case Progress::plain:
      break;
  }
  return "holt: the store has not answered yet, waiting for it\n";
}

WaitProgress::WaitProgress(Holt& holt, Name name, Progress form)
    : holt_(holt), name_(std::move(name)), form_(form), start_(BootClock::now()) {
  if (form_ == Progress::quiet) return;
  thread_ = std::jthread([this](std::stop_token const& stop) { run(stop); });
}

WaitProgress::~WaitProgress() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  clear_line();
}

void WaitProgress::run(std::stop_token const& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  milliseconds pause{0};
  auto next = time_to_say_something;
  while (!woken.wait_for(lock, stop, next, [&] { return stop.stop_requested(); })) {
    show();
    pause = pause_after(form_, pause);
    next = pause;
  }
}

void WaitProgress::show() {
  std::optional<LeaseInfo> lease;
  try {
    lease = holt_.find(name_);
  } catch (EngineError const&) {
    lease.reset();  // the wait itself will tell
  }
  if (lease) count_those_before(*lease);
  shown_ = true;
  if (form_ == Progress::line) {
    show_line(fitting("holt: " + text(lease)));
  } else if (form_ == Progress::plain) {
    talk(text(lease));
  } else {
    talk_plainly(json(lease));
  }
}

/// The store tells how many wait, not which of them we are: when we look for the first time, we
/// are the last or nearly so, and every hand-over since has brought us forward.
void WaitProgress::count_those_before(LeaseInfo const& lease) {
  if (lease.waiting == 0) return;
  auto const others = lease.waiting - 1;
  if (before_ && lease.fence != fence_ && *before_ > 0) --*before_;
  before_ = before_ ? std::min(*before_, others) : others;
  fence_ = lease.fence;
}

/// What matters most comes first: a terminal may be too narrow for the rest.
std::string WaitProgress::text(std::optional<LeaseInfo> const& lease) const {
  std::string so_far;
  if (before_) {
    so_far = *before_ == 0 ? "next in line" : "at most " + std::to_string(*before_) + " before us";
  }
  auto const waited = since(start_);
  if (waited >= worth_a_line) so_far += (before_ ? ", " : "") + whole_seconds(waited);
  auto line = "waiting for lock " + in_quotes(name_.text());
  if (!so_far.empty()) line += " (" + so_far + ")";
  return line + ": " + (lease ? holder(as_busy(*lease)) : "it is being handed over");
}

std::string WaitProgress::json(std::optional<LeaseInfo> const& lease) const {
  boost::json::object object{
      {"event", "waiting"}, {"name", name_.text()}, {"waited_ms", since(start_).count()}};
  if (lease) {
    object["holder"] = lease->owner.text();
    object["fence"] = lease->fence.padded();
    object["note"] = lease->note;
    object["expires_in_ms"] = lease->expires_in.count();
    object["waiting"] = lease->waiting;
  }
  if (before_) object["before_at_most"] = *before_;
  return boost::json::serialize(object);
}

void WaitProgress::finish(std::string_view how) {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  clear_line();
  if (!shown_) return;
  auto const waited = since(start_);
  if (form_ == Progress::json) {
    talk_plainly(boost::json::serialize(boost::json::object{
        {"event", how}, {"name", name_.text()}, {"waited_ms", waited.count()}}));
  } else if (form_ == Progress::plain && how == "acquired" && waited >= worth_a_line) {
    talk("got lock " + in_quotes(name_.text()) + " after " + rounded_duration(waited));
  }
}

}  // namespace holt::cli
