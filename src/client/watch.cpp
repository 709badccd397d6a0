// SPDX-License-Identifier: Apache-2.0
#include <holt/watch.hpp>

#include "client/core.hpp"
#include "client/watching.hpp"

#include <holt/open.hpp>

#include <utility>

namespace holt {
namespace client {
namespace {

/// Wait times are added to now: what is near the end of the clock means "no limit".
Instant give_up_at(Instant now, std::chrono::milliseconds wait) {
  constexpr std::chrono::hours longest{24 * 365 * 100};
  return wait >= longest ? Instant::max() : now + wait;
}

}  // namespace

Watching::~Watching() {
  if (!core_->forked()) return;
  [[maybe_unused]] auto const* const left_alone = watcher_.release();
}

Watch Core::watch(std::string_view prefix) {
  check_usable("watch");
  auto watcher = std::make_unique<Watcher>(env_, *engine_, std::string(prefix));
  return Watch(std::make_unique<Watching>(shared_from_this(), std::move(watcher)));
}

std::vector<LeaseEvent> Core::next(Watcher& watcher, std::chrono::milliseconds wait,
                                   std::stop_token const& stop) {
  check_usable("watch");
  if (wait < std::chrono::milliseconds(0)) {
    throw InvalidArgument("a wait below zero is not possible: use 0 not to wait");
  }
  std::stop_source either;
  std::stop_callback const on_stop(stop, [&either] { either.request_stop(); });
  std::stop_callback const on_close(closing_.get_token(), [&either] { either.request_stop(); });
  std::stop_callback const on_gone(gone_.get_token(), [&either] { either.request_stop(); });
  auto events =
      loops_.run(watcher.next(give_up_at(env_.now(), wait), timeout_, either.get_token()));
  check_usable("watch");
  if (events.empty() && gone_.stop_requested()) {
    throw EngineError(ErrorCode::service_unavailable, Outcome::not_applied, "store", "watch",
                      gone_reason_, "its leases are void; open the store again");
  }
  return events;
}

}  // namespace client

Watch::Watch(std::unique_ptr<client::Watching> watching) noexcept
    : watching_(std::move(watching)) {}
Watch::Watch(Watch&& other) noexcept = default;
Watch& Watch::operator=(Watch&& other) noexcept = default;
Watch::~Watch() = default;

std::vector<LeaseEvent> Watch::next(std::chrono::milliseconds wait, std::stop_token stop) {
  return watching_->core().next(watching_->watcher(), wait, stop);
}

Watch Holt::watch(std::string_view prefix) { return core_->watch(prefix); }

}  // namespace holt
