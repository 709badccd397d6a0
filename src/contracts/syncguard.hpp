// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the interop layout `syncguard` answers alike on every engine: what it refuses before any
// I/O, and the signals that it has not.

#include "base/syncguard.hpp"
#include "contracts/input_rules.hpp"
#include "contracts/lease_store.hpp"
#include "contracts/signal_bus.hpp"

#include <holt/error.hpp>

#include <atomic>
#include <string>
#include <string_view>

namespace holt {

[[noreturn]] inline void refuse_in_layout(std::string_view what, std::string_view layout,
                                          std::string_view instead) {
  throw InvalidArgument(std::string(what)
                            .append(" not possible with layout=")
                            .append(layout)
                            .append(", which has no place for it: ")
                            .append(instead));
}

/// Throws InvalidArgument for what a lock of SyncGuard cannot say. A note is not kept.
inline void check_syncguard_request(LeaseRequest const& request, std::string_view layout) {
  check_request(request);
  if (request.names.size() > 1)
    refuse_in_layout("several names at once are", layout, "ask for one");
  if (request.delay > Nanos(0)) {
    refuse_in_layout("a rest after an expiry is", layout, "leave it out");
  }
  if (request.priority != LeaseRequest::usual_priority) {
    refuse_in_layout("a priority is", layout, "leave it out");
  }
}

inline void check_syncguard_break(BreakRequest const& request, std::string_view layout) {
  if (request.now) return;
  refuse_in_layout("asking a holder to stop is", layout,
                   "wait until its lease ends, or free it at once with --now (BreakOptions::now)");
}

/// `instead`: how this engine tells one fleet from another.
inline void check_syncguard_instance(std::string_view instance, std::string_view layout,
                                     std::string_view instead) {
  if (instance == "default") return;
  throw InvalidArgument(std::string("the instance \"")
                            .append(instance)
                            .append("\" is not possible with layout=")
                            .append(layout)
                            .append(": a fleet is told from another by ")
                            .append(instead)
                            .append(" in the store's address"));
}

/// `by_hand`: how this engine's counters are written to.
[[noreturn]] inline void refuse_to_raise_syncguard(std::string_view by_hand) {
  throw InvalidArgument(
      std::string("fences cannot be raised with this layout: each name has a counter of its own, "
                  "which the rest of the fleet writes too; set the counters by hand (")
          .append(by_hand)
          .append(") while nobody uses them"));
}

/// The signals of a fleet that has none: every one is lost, as signals may be. Owners get the one
/// inbox that all holders of the fleet are shown with, so that a holder looks the same to itself
/// and to others.
class SyncguardSignals final : public SignalBus {
 public:
  [[nodiscard]] std::string const& inbox() const override { return inbox_; }
  void listen() override {}
  [[nodiscard]] bool listening() const override { return true; }
  Delivery send(std::string_view /*inbox*/, Signal const& /*signal*/) override {
    return Delivery::unknown;
  }
  void publish(Signal const& /*signal*/) override {}
  Subscription subscribe(std::string /*topic*/, Handler /*handler*/) override { return ++last_; }
  void unsubscribe(Subscription /*subscription*/) override {}

 private:
  std::string const inbox_{syncguard_inbox};
  std::atomic<Subscription> last_ = 0;
};

}  // namespace holt
