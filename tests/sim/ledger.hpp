// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ledger: what the store may have granted, as seen from outside. For every name it knows who was
// granted it last, and between which two moments that grant ends. It judges the store alone: a name
// granted while it cannot have ended, a renewal of what must have ended or is another's.

#include "contracts/lease_store.hpp"
#include "support/sim_random.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>

namespace holt::sim {

class Ledger {
 public:
  /// Why an answer is wrong, in words; nothing when it may be right.
  using Objection = std::optional<std::string>;

  /// The store granted `name`; the call reached it at `started`, and it is `now`.
  Objection granted(LeaseRequest const& request, Name const& name, Fence fence, Nanos started,
                    Nanos now);
  /// The store renewed it.
  Objection renewed(LeaseRenewal const& renewal, Nanos started, Nanos now);
  /// The holder of this grant trusts it until `until`: it must end before the grant can.
  [[nodiscard]] Objection trusted(Name const& name, Owner const& owner, Nanos until) const;
  /// A release by this owner has reached the store: it may be free from here on.
  void releasing(Name const& name, Owner const& owner);
  /// A break that frees at once has reached the store; it has been answered.
  void freeing(Name const& name);
  void freed(Name const& name);
  /// The store's machine lost its power: every grant ended `now`. Fences grow all the same.
  void power_cut(Nanos now);

 private:
  struct Entry {
    Owner owner;
    Fence fence;
    bool let_go = false;  ///< may be free before its end
    Nanos not_before{};   ///< when it ends, at the earliest
    Nanos not_after{};    ///< and at the latest
    int being_freed = 0;  ///< breaks under way
  };
  std::map<std::string, Entry> entries_;
  std::set<std::string> leaving_;  ///< owners who released, perhaps before we heard of their grant
};

}  // namespace holt::sim
