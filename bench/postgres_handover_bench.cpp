// SPDX-License-Identifier: Apache-2.0
// Hand-over on PostgreSQL: after a clean release with 1 and with 500 waiting, and after the holder
// was killed; what clients send for it; and the raw limit, two commits and a notification from one
// process to another over the same server.

#include "figures.hpp"
#include "handover.hpp"
#include "postgres_bare.hpp"
#include "postgres_figures.hpp"
#include "processes.hpp"

#include <fmt/core.h>

#include <chrono>
#include <string>
#include <vector>

namespace holt::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t samples = 800;
constexpr Crowd one_waits{.processes = 2, .threads = 1};
constexpr Crowd many_wait{.processes = 3, .threads = 167};

void clean_rows(Crowd crowd, double bare) {
  PostgresAtWork const server(StatementStats::config());
  StatementStats const stats(server);
  double asked = 0;
  auto const count = [&] {
    asked = stats.of(".acquire(").rows - asked;  // the second time: since the first
    return static_cast<std::uint64_t>(stats.of_all().statements);
  };
  auto const seen = hand_overs(server->url(), crowd, samples, count);
  auto const what = fmt::format("clean release, {} waiting", crowd.waiting());
  gap_rows(what, seen.gaps, "at most 3 ms", "at most 15 ms");
  row(what + ", p50 / bare write, message and write",
      ratio_text(percentile(seen.gaps, 0.5) / bare));
  row(what + ", statements by clients per hand-over", fmt::format("{:.2f}", seen.commands));
  // Who let it go asks once, too: it stands in line again.
  row(what + ", how many asked for it", fmt::format("{:.2f}", asked / seen.counted - 1), "1");
}

void kill_rows() {
  PostgresAtWork const server;
  std::vector<double> late;
  for (int i = 0; i < 40; ++i) late.push_back(after_kill(server->url(), 300ms));
  gap_rows("after SIGKILL, past the rest of the ttl", late, "", "");
}

void measure() {
  auto const bare = bare_messages(samples, 2ms);
  head("Locks: hand-over between processes, PostgreSQL",
       fmt::format(
           "From the moment before the holder calls `release()` to the moment the next process has "
           "the lock.\nEach holds for 2 ms and stands in line again at once; {} hand-overs. The "
           "bare limit: from before\na statement that updates a row and sends a notification to "
           "the moment a process that listens has\nanswered it with an update of its own. After "
           "SIGKILL: ttl 300 ms, 40 times, counted from the end\nof the dead holder's lease. {}",
           samples, PostgresAtWork().settings()));
  auto const limit = percentile(bare, 0.5);
  row("bare write, message and write, p50", time_text(limit));
  row("bare write, message and write, p99", time_text(percentile(bare, 0.99)));
  for (auto const crowd : {one_waits, many_wait}) clean_rows(crowd, limit);
  kill_rows();
}

}  // namespace
}  // namespace holt::bench

int main() { holt::bench::measure(); }
