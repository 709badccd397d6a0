// SPDX-License-Identifier: Apache-2.0
// The act of `holt demo` on polling: workers that share endpoints, one that joins, one that dies.

#include "cli/demo_stage.hpp"
#include "cli/demo_story.hpp"
#include "cli/demo_telling.hpp"
#include "cli/exit_code.hpp"
#include "cli/failure.hpp"

#include <holt/clock.hpp>
#include <holt/open.hpp>
#include <holt/polling.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto time_to_look = 400ms;
constexpr auto between_counts = 100ms;
constexpr auto patience = 10s;

std::string node_name(int worker) { return fmt::format("worker-{}", worker); }

std::string nothing_more(int /*worker*/) { return {}; }

}  // namespace

void Story::polling() {
  for (int worker = 1; worker <= demo_workers; ++worker) {
    if (!is_killed(worker)) pollers_.push_back(worker);
  }
  say('\n' + fmt::format("The other {} share {} endpoints: each is polled every {:.1f} s, by one "
                         "of them at a time.",
                         pollers_.size(), demo_endpoints, in_s(demo_poll_every)));
  for (auto const worker : pollers_) start_polling(worker);
  watch([this] { return facts_.polled.shared_by(pollers_); });
  print_pollers(nothing_more);
  watch_for(time_to_look);
  joining_poller();
  watch_for(time_to_look);
  killed_poller();
  watch_for(time_to_look);
  for (auto const worker : pollers_) {
    stage_.tell(worker, "rest");
    watch([&] { return heard("rested", worker); });  // all its polls have ended by then
  }
}

void Story::joining_poller() {
  auto const worker = stage_.add_worker();
  say('\n' + fmt::format("Worker {} joins them, and takes its part.", worker));
  pollers_.push_back(worker);
  start_polling(worker);
  watch([this] { return facts_.polled.shared_by(pollers_); });
  print_pollers(nothing_more);
}

void Story::killed_poller() {
  auto const worker = pollers_.front();
  pollers_.erase(pollers_.begin());
  killed_.push_back(worker);
  stage_.signal(worker, SIGKILL);
  auto const killed = BootClock::now();
  watch([&] { return heard("gone", worker); });
  facts_.polled.dies(worker, killed);
  // Only now: until it was dead it might have renewed them.
  auto const left = left_by(worker);
  say_trouble(
      fmt::format("Worker {} is killed (SIGKILL) while it polls {}. Its leases have {:.2f} s "
                  "left.",
                  worker, fmt::join(left.endpoints, " "), in_s(left.end - killed)));
  watch([this] { return facts_.polled.shared_by(pollers_); }, left.end);
  print_pollers([&](int heir) { return inheritance(left, heir); });
}

/// What a worker took over, and when.
std::string Story::inheritance(Leavings const& left, int heir) {
  std::vector<char> taken;
  std::chrono::nanoseconds later{};
  for (auto const letter : left.endpoints) {
    auto const endpoint = static_cast<std::size_t>(letter - 'a');
    if (facts_.polled.poller(endpoint) != heir) continue;
    taken.push_back(letter);
    later = std::max(later, facts_.polled.since(endpoint) - left.end);
  }
  if (taken.empty()) return {};
  facts_.poller_killed = std::max(facts_.poller_killed, later);
  return fmt::format("took {} {:.2f} ms after those leases ended", fmt::join(taken, " "),
                     in_ms(later));
}

Story::Leavings Story::left_by(int worker) {
  auto const now = BootClock::now();
  Leavings left{.endpoints = {}, .end = now};
  for (auto const& node : holt_.nodes(demo_polling)) {
    if (node.node == node_name(worker)) left.end = now + (node.ttl - node.heartbeat_age);
  }
  for (auto const& info : holt_.endpoints(demo_polling)) {
    if (info.node != node_name(worker)) continue;
    left.endpoints.push_back(info.endpoint.front());
    left.end = std::max(left.end, Instant(now + info.expires_in));
  }
  if (left.endpoints.empty()) {
    throw Failure(ExitCode::failed,
                  "the store knows no endpoint of the killed one, though it polled");
  }
  return left;
}

void Story::start_polling(int worker) { stage_.tell(worker, "poll " + node_name(worker)); }

void Story::write_down(Message message) {
  auto const number = [&](std::size_t i) { return message.numbers.at(i); };
  if (message.word == "polls") {
    facts_.polled.begins(static_cast<std::size_t>(number(0)), message.worker,
                         static_cast<std::uint64_t>(number(1)), instant(number(2)));
  } else if (message.word == "polled") {
    facts_.polled.ends(static_cast<std::size_t>(number(0)), message.worker, instant(number(1)));
  } else if (message.word == "begins" || message.word == "did") {
    write_down_task(message);
  } else {
    if (message.word == "gone") expect_end_of(message.worker);
    unread_.push_back(std::move(message));
  }
}

bool Story::heard(std::string_view word, int worker) const {
  return std::ranges::any_of(unread_, [&](Message const& message) {
    return message.word == word && message.worker == worker;
  });
}

void Story::watch(std::function<bool()> const& enough, Instant end) {
  auto const give_up = BootClock::now() + patience;
  auto counted = BootClock::now();
  while (!enough()) {
    auto const now = BootClock::now();
    if (now > give_up) {
      throw Failure(ExitCode::failed, "the workers do not play their parts");
    }
    if (now - counted >= between_counts) {
      count_down(end);
      counted = now;
    }
    write_down(stage_.next([&] { count_down(end); }));
  }
}

void Story::watch_for(std::chrono::milliseconds time) {
  auto const until = BootClock::now() + time;
  watch([until] { return BootClock::now() >= until; });
}

void Story::print_pollers(std::function<std::string(int worker)> const& more) const {
  for (auto const worker : pollers_) {
    print(facts_.polled.since(), worker, "polls",
          fmt::format("{:<11}{}", facts_.polled.endpoints_of(worker), more(worker)));
  }
}

}  // namespace holt::cli
