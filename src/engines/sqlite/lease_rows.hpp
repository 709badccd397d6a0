// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseRows: the tables `lease`, `ticket` and `fence` of one instance, as single statements with
// their types. No decisions: those are in lease_steps. Used inside a transaction.

#include "contracts/env.hpp"
#include "contracts/lease_store.hpp"
#include "engines/sqlite/connection.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holt::sqlite {

enum class LeaseState : std::int64_t { held = 0, offered = 1 };

/// What a decision needs to know of a lease. Times are nanoseconds on Env::now().
struct LeaseRow {
  std::string owner;
  std::uint64_t fence = 0;
  LeaseState state = LeaseState::held;
  std::int64_t until_ns = 0;
  std::int64_t delay_ns = 0;
  std::string note;
  std::optional<std::string> broken;
};

struct Look {
  bool has_tickets = false;
  std::optional<LeaseRow> lease;
};

/// The first in line, with what it wants.
struct Head {
  std::string owner;
  std::int64_t ttl_ns = 0;
  std::string note;
  std::string request;
};

/// What is written as a grant or an offer. The views must outlive the call.
struct LeaseWrite {
  std::string_view owner;
  LeaseState state = LeaseState::held;
  std::int64_t ttl_ns = 0;
  std::int64_t delay_ns = 0;
  std::int64_t live_ns = 0;  ///< how long it lives from now
  std::string_view note;
  std::string_view request;
};

class LeaseRows {
 public:
  /// Reads the clocks once: `now` is the same for all that one step does.
  LeaseRows(Connection& store, Env& env, std::string_view instance);

  [[nodiscard]] std::int64_t now_ns() const noexcept { return now_ns_; }

  Look look(Name const& name);
  /// Draws a fence, after the name was looked at in the same transaction.
  std::uint64_t draw_fence();

  void put(Name const& name, std::uint64_t fence, LeaseWrite const& lease);
  void confirm(Name const& name, LeaseWrite const& lease);
  bool renew(LeaseRenewal const& renewal);
  /// The lease or offer goes, whoever has it.
  void drop(Name const& name);
  /// Removes the owner's lease or offer, if it has not ended and nobody waits for it.
  bool give_back(Name const& name, std::string_view owner);
  void mark_broken(Name const& name, std::string_view reason);
  /// Removes what ended long ago, of all names and instances.
  void sweep();

  /// The first who still waits. Without one the dead are removed, so that nothing stays.
  std::optional<Head> live_head(Name const& name);
  /// Who has this place in line; 1 is next.
  std::optional<std::string> waiter_at(Name const& name, int place);
  /// Gives a place, or keeps the one there is. Answers which; 0 when the line is full.
  std::uint32_t stand_in_line(Name const& name, LeaseRequest const& request);
  bool drop_ticket(Name const& name, std::string_view owner);

 private:
  [[nodiscard]] std::int64_t after(std::int64_t span_ns) const noexcept;
  std::uint32_t place(Name const& name, std::string_view owner);

  Connection& store_;
  std::string_view instance_;
  std::int64_t now_ns_;
  std::chrono::system_clock::time_point wall_;
  std::int64_t last_fence_ = -1;  ///< 0: none was drawn yet; -1: not read, look() does
};

}  // namespace holt::sqlite
