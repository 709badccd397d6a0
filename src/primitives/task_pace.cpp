// SPDX-License-Identifier: Apache-2.0
#include "primitives/task_pace.hpp"

#include "primitives/backoff.hpp"

namespace holt::pace {
namespace {

/// So much work is taken ahead: a round trip to any store is shorter.
constexpr Nanos work_ahead = std::chrono::milliseconds(20);
/// What it takes others to hear of tasks that came back, and to claim them.
constexpr Nanos hand_over = std::chrono::milliseconds(2);
constexpr Nanos longest_jitter = std::chrono::milliseconds(10);
constexpr Nanos shortest_pause = std::chrono::milliseconds(1);
constexpr std::uint32_t most_in_a_claim = 1000;

}  // namespace

Nanos retry_delay(RetryPolicy const& policy, std::uint32_t failures,
                  std::uint64_t random) noexcept {
  failures = std::max(failures, 1U);
  if (!policy.delays.empty()) {
    auto const index = std::min<std::size_t>(failures - 1, policy.delays.size() - 1);
    return policy.delays[index];
  }
  RetryOptions exponential;
  exponential.delay = policy.first;
  exponential.max_delay = policy.longest;
  exponential.jitter = Jitter::full;
  return backoff::pause(exponential, failures, random);
}

std::uint32_t tasks_ahead(std::optional<Nanos> typical, std::uint32_t handlers, Nanos ttl,
                          std::uint32_t most) noexcept {
  if (!typical) return 0;
  auto const window = std::min(work_ahead, hold_at_most(ttl)) * handlers;
  auto const count = window / std::max(*typical, Nanos(1));
  return static_cast<std::uint32_t>(std::min<Nanos::rep>(count, most));
}

std::uint32_t to_ask(Load const& load, std::uint32_t ahead, bool known) noexcept {
  std::size_t const idle = load.handlers - std::min(load.busy, load.handlers);
  auto const have = load.ready + load.asked;
  bool const starving = have < idle;
  if (!known) return starving ? 1 : 0;
  auto const target = idle + ahead;
  if (have >= target || (!starving && have > target / 2)) return 0;
  return static_cast<std::uint32_t>(std::min<std::size_t>(target - have, most_in_a_claim));
}

bool worth_giving_back(std::size_t ready, std::optional<Nanos> typical,
                       std::uint32_t handlers) noexcept {
  if (ready == 0) return false;
  if (!typical) return true;
  auto const rounds = static_cast<Nanos::rep>((ready + handlers - 1) / std::max(handlers, 1U));
  return *typical > hand_over / rounds;
}

Nanos ask_pause(Nanos told, std::uint64_t random) noexcept {
  told = std::max(told, shortest_pause);
  auto const most = static_cast<std::uint64_t>(std::min(told / 10, longest_jitter).count());
  return told + Nanos(static_cast<Nanos::rep>(random % (most + 1)));
}

}  // namespace holt::pace
