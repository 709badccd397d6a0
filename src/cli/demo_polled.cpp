// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_polled.hpp"

#include <holt/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

/// Of a poll whose end was not told: it overlaps with all that come after it.
constexpr auto unended = Instant::max();

bool wrong(Stay const& before, Stay const& after) noexcept {
  bool const same = after.worker == before.worker;
  return after.from < before.until || after.fence < before.fence ||
         (!same && after.fence == before.fence);
}

}  // namespace

void PolledSide::begins(std::size_t endpoint, int worker, std::uint64_t fence, Instant at) {
  auto& polls = polls_.at(endpoint);
  polls.insert(std::ranges::upper_bound(polls, at, {}, &Stay::from),
               {.worker = worker, .fence = fence, .from = at, .until = unended});
}

void PolledSide::ends(std::size_t endpoint, int worker, Instant at) {
  for (auto& poll : polls_.at(endpoint)) {
    if (poll.worker == worker && poll.until == unended) poll.until = at;
  }
}

void PolledSide::dies(int worker, Instant at) {
  for (std::size_t i = 0; i < polls_.size(); ++i) ends(i, worker, at);
}

int PolledSide::poller(std::size_t endpoint) const noexcept {
  auto const& polls = polls_[endpoint];
  return polls.empty() ? 0 : polls.back().worker;
}

Instant PolledSide::since(std::size_t endpoint) const noexcept {
  auto const& polls = polls_[endpoint];
  auto const other = [worker = poller(endpoint)](Stay const& poll) {
    return poll.worker != worker;
  };
  auto const before = std::find_if(polls.rbegin(), polls.rend(), other);
  return std::prev(before)->from;
}

Instant PolledSide::since() const noexcept {
  auto latest = Instant::min();
  for (std::size_t i = 0; i < polls_.size(); ++i) latest = std::max(latest, since(i));
  return latest;
}

std::string PolledSide::endpoints_of(int worker) const {
  std::string letters;
  for (std::size_t i = 0; i < polls_.size(); ++i) {
    if (poller(i) != worker) continue;
    if (!letters.empty()) letters += ' ';
    letters += static_cast<char>('a' + i);
  }
  return letters;
}

bool PolledSide::shared_by(std::vector<int> const& workers) const {
  std::vector<std::size_t> counts(workers.size());
  for (std::size_t i = 0; i < polls_.size(); ++i) {
    auto const found = std::ranges::find(workers, poller(i));
    if (found == workers.end()) return false;
    ++counts[static_cast<std::size_t>(found - workers.begin())];
  }
  auto const [least, most] = std::ranges::minmax(counts);
  return most - least <= 1;
}

std::size_t PolledSide::polls() const noexcept {
  std::size_t sum = 0;
  for (auto const& polls : polls_) sum += polls.size();
  return sum;
}

bool PolledSide::one_at_a_time() const noexcept {
  return std::ranges::all_of(polls_, [](std::vector<Stay> const& polls) {
    return !polls.empty() && std::ranges::adjacent_find(polls, wrong) == polls.end();
  });
}

}  // namespace holt::cli
