// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_story.hpp"

#include "cli/color.hpp"
#include "cli/demo_polled.hpp"
#include "cli/demo_stage.hpp"
#include "cli/demo_telling.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"
#include "cli/stream.hpp"

#include <holt/clock.hpp>
#include <holt/open.hpp>

#include <fmt/format.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono_literals::operator""ms;

constexpr auto time_inside = 100ms;
constexpr auto time_before_trouble = 300ms;

std::string term_text(std::uint64_t term) {
  return styled(Style::bold, fmt::format("term {}", term), STDOUT_FILENO);
}

/// What somebody says who has begun: number and time.
Stay stay_in(Message const& message) {
  return {.worker = message.worker,
          .fence = static_cast<std::uint64_t>(message.numbers.at(0)),
          .from = instant(message.numbers.at(1)),
          .until = {}};
}

bool follow_one_another(std::vector<Stay> const& stays) noexcept {
  auto const wrong = [](Stay const& before, Stay const& after) {
    return after.from < before.until || after.fence <= before.fence;
  };
  return std::ranges::adjacent_find(stays, wrong) == stays.end();
}

}  // namespace

bool FencedResource::write(std::uint64_t fence) noexcept {
  if (fence < highest_) return false;
  highest_ = fence;
  return true;
}

bool Facts::one_at_a_time() const noexcept { return follow_one_another(stays); }

bool Facts::one_leader_at_a_time() const noexcept {
  return terms.size() == 3 && follow_one_another(terms);
}

bool Facts::all_true() const noexcept {
  return handovers.size() == demo_handovers && stopped_one_knew && late_write_refused &&
         other_writes_accepted && one_at_a_time() && one_leader_at_a_time() &&
         polled.one_at_a_time() && each_done_once();
}

Story::Story(Stage& stage, Holt& holt, Progress progress) noexcept
    : stage_(stage), holt_(holt), progress_(progress), start_(BootClock::now()) {}

Facts Story::tell() {
  say(fmt::format("{} workers want the same lock. Its lease lives {:.0f} s unless it is renewed.\n",
                  demo_workers, in_s(demo_ttl)));
  for (int worker = 1; worker <= demo_workers; ++worker) stage_.tell(worker, "enter");
  enter_next({}, {});
  clean_handovers();
  killed_holder();
  stopped_holder();
  election();
  polling();
  queue();
  return std::move(facts_);
}

void Story::clean_handovers() {
  for (int i = 0; i < demo_handovers; ++i) {
    facts_.other_writes_accepted &= write(facts_.stays.back()).accepted;
    stage_.pause(time_inside);
    auto const [worker, fence, from, until] = leave();
    facts_.handovers.push_back(enter_next(until, fmt::format("after worker {} left", worker)));
    stage_.tell(worker, "enter");
  }
}

void Story::killed_holder() {
  stage_.pause(time_before_trouble);
  auto& stay = facts_.stays.back();
  auto const end = end_of_lease();
  killed_.push_back(stay.worker);
  stage_.signal(stay.worker, SIGKILL);
  stay.until = BootClock::now();
  say_trouble(
      fmt::format("Worker {} is killed (SIGKILL) while it holds the lock. Its lease has {:.2f} s "
                  "left.",
                  stay.worker, in_s(end - stay.until)));
  facts_.after_kill = enter_next(end, "after that lease ended");
}

void Story::stopped_holder() {
  stage_.pause(time_before_trouble);
  auto const stopped = facts_.stays.size() - 1;
  auto const worker = facts_.stays[stopped].worker;
  auto const end = end_of_lease();
  stage_.signal(worker, SIGSTOP);
  say_trouble(
      fmt::format("Worker {} is stopped (SIGSTOP) while it holds the lock. Its lease has {:.2f} s "
                  "left.",
                  worker, in_s(end - BootClock::now())));
  facts_.after_stop = enter_next(end, "after that lease ended");
  auto const good = write(facts_.stays.back());
  facts_.other_writes_accepted &= good.accepted;
  print_write(facts_.stays.back(), good);
  say_trouble(
      fmt::format("Worker {} goes on (SIGCONT) and writes, as if nothing had happened.", worker));
  stage_.signal(worker, SIGCONT);
  auto const late = write(facts_.stays[stopped]);
  print_write(facts_.stays[stopped], late);
  facts_.stopped_one_knew = !late.held;
  facts_.late_write_refused = !late.accepted;
  facts_.stays[stopped].until = late.deadline;
  leave();
}

void Story::election() {
  say('\n' + fmt::format("The other {} elect a leader, which leads until it stops or dies.",
                         demo_workers - 1));
  for (int worker = 1; worker <= demo_workers; ++worker) {
    if (!is_killed(worker)) stage_.tell(worker, "stand");
  }
  lead_next({}, {});
  stopped_leader();
  killed_leader();
}

void Story::stopped_leader() {
  stage_.pause(time_before_trouble);
  auto& term = facts_.terms.back();
  auto const worker = term.worker;
  stage_.tell(worker, "stop");
  auto const stopped = instant(expect("stopped").numbers.at(0));
  term.until = stopped;
  print(stopped, worker, "stops", {});
  facts_.leader_stopped = lead_next(stopped, fmt::format("after worker {} stopped", worker));
}

void Story::killed_leader() {
  stage_.pause(time_before_trouble);
  auto& term = facts_.terms.back();
  auto const leader = holt_.leader(demo_election);
  if (!leader) throw Failure(ExitCode::failed, "the store knows no leader, though there is one");
  auto const end = BootClock::now() + leader->expires_in;
  killed_.push_back(term.worker);
  stage_.signal(term.worker, SIGKILL);
  term.until = BootClock::now();
  say_trouble(
      fmt::format("Worker {}, the leader, is killed (SIGKILL). Its lease has {:.2f} s left.",
                  term.worker, in_s(end - term.until)));
  facts_.leader_killed = lead_next(end, "after that lease ended");
}

/// The next message that begins with `word`; others are kept for later. Until then it is told when
/// the lease will end.
Message Story::expect(std::string_view word, Instant end) {
  while (true) {
    auto const found = std::ranges::find(unread_, word, &Message::word);
    if (found != unread_.end()) {
      auto message = std::move(*found);
      unread_.erase(found);
      return message;
    }
    auto message = stage_.next([&] { count_down(end); });
    if (message.word != "gone") {
      unread_.push_back(std::move(message));
    } else {
      expect_end_of(message.worker);
    }
  }
}

bool Story::is_killed(int worker) const noexcept {
  return std::ranges::find(killed_, worker) != killed_.end();
}

void Story::expect_end_of(int worker) const {
  if (!is_killed(worker)) {
    throw Failure(ExitCode::failed, fmt::format("worker {} ended by itself", worker));
  }
}

std::chrono::nanoseconds Story::enter_next(Instant since, std::string const& what) {
  auto const stay = stay_in(expect("entered", since));
  facts_.stays.push_back(stay);
  auto const later = later_than(since, stay.from);
  auto const gap = what.empty() ? "" : fmt::format("{:.2f} ms {}", in_ms(later), what);
  print(stay.from, stay.worker, "enters", fmt::format("{}   {}", fence_text(stay.fence), gap));
  return later;
}

std::chrono::nanoseconds Story::lead_next(Instant since, std::string const& what) {
  auto const term = stay_in(expect("leads", since));
  facts_.terms.push_back(term);
  auto const later = later_than(since, term.from);
  auto const gap = what.empty() ? "" : fmt::format("{:.2f} ms {}", in_ms(later), what);
  print(term.from, term.worker, "leads", fmt::format("{}   {}", term_text(term.fence), gap));
  return later;
}

Story::Write Story::write(Stay const& stay) {
  stage_.tell(stay.worker, "write");
  auto const message = expect("writes");
  return {.accepted = resource_.write(static_cast<std::uint64_t>(message.numbers.at(0))),
          .held = message.numbers.at(1) == 1,
          .deadline = instant(message.numbers.at(2))};
}

void Story::print_write(Stay const& stay, Write const& write) const {
  auto const now = BootClock::now();
  if (!write.held) print(now, stay.worker, "asks", "held() is false: it could have known");
  auto const refused = fmt::format("REFUSED: {} was here", resource_.highest());
  auto const verdict = write.accepted ? "accepted" : styled(Style::red, refused, STDOUT_FILENO);
  print(now, stay.worker, "writes", fmt::format("{}   {}", fence_text(stay.fence), verdict));
}

Stay Story::leave() {
  auto& stay = facts_.stays.back();
  stage_.tell(stay.worker, "leave");
  stay.until = instant(expect("left").numbers.at(0));
  print(stay.until, stay.worker, "leaves", {});
  return stay;
}

Instant Story::end_of_lease() {
  auto const lease = holt_.find(demo_lock);
  if (!lease) throw Failure(ExitCode::failed, "the store knows no holder, though there is one");
  return BootClock::now() + lease->expires_in;
}

void Story::count_down(Instant end) const {
  auto const left = std::chrono::floor<std::chrono::milliseconds>(end - BootClock::now());
  if (left < 0ms) return;
  if (progress_ == Progress::line) {
    show_line(fmt::format("  the others wait for its lease to end: {:.1f} s", in_s(left)));
  } else if (progress_ == Progress::json) {
    talk_plainly(fmt::format(R"({{"event":"waiting","lease_ends_in_ms":{}}})", left.count()));
  }
}

void Story::print(Instant when, int worker, std::string_view what, std::string const& more) const {
  auto line =
      fmt::format("  {:7.3f} s  worker {} {:7} {}", in_s(when - start_), worker, what, more);
  line.erase(line.find_last_not_of(' ') + 1);
  say(line);
}

}  // namespace holt::cli
