// SPDX-License-Identifier: Apache-2.0
// Once per period: the part of Core and of the public API.

#include "primitives/once.hpp"

#include "client/core.hpp"

#include <holt/open.hpp>

#include <fmt/format.h>

#include <utility>

namespace holt {
namespace client {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_period{100};
constexpr std::chrono::hours longest_period{24 * 366};

void check(CountOptions const& options) {
  if (options.period < shortest_period || options.period > milliseconds(longest_period)) {
    throw InvalidArgument(fmt::format("a period of {} ms is out of range: use 100 ms to 366 days",
                                      options.period.count()));
  }
  if (options.note.size() > LeaseStore::max_note_bytes) {
    throw InvalidArgument(fmt::format("a note of {} bytes is too long: use at most {}",
                                      options.note.size(), LeaseStore::max_note_bytes));
  }
}

}  // namespace

std::optional<CountedRun> Core::last_run(Name const& name) {
  check_usable("last run");
  Once once(env_, engine_->records());
  return loops_.run(once.last(name, call_deadline()));
}

bool Core::count_run(Lock const& lock, CountOptions const& options) {
  check(options);
  check_usable("count run");
  auto const now = env_.now();
  if (!lock.held()) return false;
  auto const ago =
      std::chrono::duration_cast<std::chrono::system_clock::duration>(now - options.started);
  CountedRun run{env_.wall() - ago, options.period, lock.fence(), std::string(options.note)};
  Once once(env_, engine_->records());
  return loops_.run(once.count(lock.name(), std::move(run), options.started, call_deadline()));
}

}  // namespace client

std::optional<CountedRun> Holt::last_run(Name const& name) { return core_->last_run(name); }

bool Holt::count_run(Lock const& lock, CountOptions options) {
  return core_->count_run(lock, options);
}

}  // namespace holt
