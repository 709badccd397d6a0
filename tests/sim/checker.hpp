// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checker: the judge. It sees the store's answers in the order the store gave them, every lease a
// client believes in, and every write to the guarded register, and looks at all of it in true time
// after every event. It keeps the first broken promise; the driver ends the simulation then.
//
// A lease freed by break --now is excused from exclusion, as documented; its fence is not.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "primitives/keeper.hpp"
#include "sim/ledger.hpp"
#include "sim/options.hpp"
#include "support/sim_env.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sim {

class Checker {
 public:
  Checker(World& world, Options const& options) : world_(world), options_(options) {}

  // What the store answered, in its order; `started` is when the call reached it. -----------------

  void answered(LeaseRequest const& request, std::expected<LeaseGrant, Busy> const& answer,
                Nanos started);
  void renewed(LeaseRenewal const& renewal, std::expected<void, Lost> const& answer, Nanos started);
  /// A release or break has reached the store, which has not answered yet.
  void releasing(Name const& name, Owner const& owner);
  void breaking(BreakRequest const& request);
  void released(Name const& name, Owner const& owner, std::expected<void, Lost> const& answer);
  void broke(BreakRequest const& request, BreakResult answer);
  void found(Name const& name, std::optional<LeaseInfo> const& answer);
  /// Every process is gone, and so is every lease; the register is elsewhere and remembers.
  void power_cut();

  // What a client sees. -------------------------------------------------------------------------

  /// A client was given this lease; `renewed` by its keeper.
  void holds(SimEnv& env, std::shared_ptr<KeptLease> lease, bool renewed);
  /// A client releases it: its loss needs no excuse.
  void lets_go(KeptLease const& lease);
  /// A client writes to the register guarded by this lease's name, having seen held() true now.
  void writes(SimEnv const& env, KeptLease const& lease);
  /// A write that was on its way arrives; nothing is known of held().
  void writes_late(Name const& name, Fence fence);

  /// Work that must have ended before the lease of this owner is released.
  void works(Owner const& owner, std::shared_ptr<bool const> working) {
    work_[owner.text()] = std::move(working);
  }

  /// It was freed by force, so its holder may be one of two.
  [[nodiscard]] bool excused(Name const& name, Fence fence) const {
    auto const found = lines_.find(name.text());
    return found != lines_.end() && fence <= found->second.excused;
  }
  /// All that were ever granted.
  [[nodiscard]] std::vector<Name> names() const;

  /// Looks at everything.
  void after_event();

  /// A promise was broken, in words.
  void violated(std::string what);
  /// The first one that was.
  [[nodiscard]] std::optional<std::string> const& violation() const { return violation_; }

  [[nodiscard]] std::uint64_t grants() const { return grants_; }
  [[nodiscard]] std::uint64_t writes() const { return accepted_ + refused_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  /// How long a free name may take to reach the next in line when nothing fails.
  static constexpr Nanos handover = std::chrono::milliseconds(50);
  /// How long after a loss its owner may not have been told.
  static constexpr Nanos tell_within = std::chrono::milliseconds(50);

  struct Waiter {
    Owner owner;
    std::int32_t priority;
  };
  struct Line {
    Fence last;                    ///< the highest fence granted
    Owner holder;                  ///< to whom
    bool occupied = false;         ///< who has not released it
    Fence excused;                 ///< this and lower fences were freed by force
    Fence register_fence;          ///< the highest the register has seen
    std::deque<Waiter> waiting;    ///< as they are to be served
    std::optional<Owner> offered;  ///< who waited, and is to confirm
    bool ranked = false;           ///< not all have the same priority
    bool certain = true;           ///< no offer can have been made that nobody saw
    std::optional<Nanos> free_since;
  };
  struct Believer {
    SimEnv* env;
    std::shared_ptr<KeptLease> lease;
    bool renewed = false;
    bool let_go = false;
    std::optional<Nanos> ended;  ///< when held() was first seen false
  };

  Line& line(Name const& name) { return lines_[name.text()]; }
  void granted(LeaseRequest const& request, Name const& name, Fence fence, Nanos started);
  void object(Ledger::Objection objection);
  void waits(Line& line, LeaseRequest const& request, Busy const& answer);
  void served(Line& line, Owner const& owner);
  void offer(Line& line);
  void check_order(Name const& name, Line& line, Owner const& owner);
  void look_at(Believer& believer);
  [[nodiscard]] Nanos end_of(Believer const& believer) const;
  void check_told(Believer const& believer);
  void check_trust(Believer const& believer);
  void check_broken(Believer const& believer);
  void check_excuse(Believer const& believer);
  void check_exclusion();

  World& world_;
  Options const& options_;
  Ledger ledger_;
  std::map<std::string, Line> lines_;
  std::map<std::string, Nanos> broken_;  ///< owners that were asked to stop, and when
  std::map<std::string, std::shared_ptr<bool const>> work_;  ///< by owner
  std::vector<Believer> believers_;
  std::vector<Believer> former_;  ///< lost lately: never to be held again
  std::optional<std::string> violation_;
  std::uint64_t grants_ = 0;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace holt::sim
