// SPDX-License-Identifier: Apache-2.0
#pragma once
// Roster: the nodes of a polling as one listing of the store showed them, and what nodes say of
// themselves there. Pure.

#include "primitives/rendezvous.hpp"

#include <holt/clock.hpp>
#include <holt/lease.hpp>
#include <holt/polling.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holt {

/// What a node's lease says in its note: `STATUS WEIGHT HASH CAP`, as `online 1 mixed 0`. What is
/// missing, or not understood, is as a foreign node has it.
struct NodeNote {
  std::string status = "online";
  double weight = 1;
  PollWeights weights = PollWeights::compatible;
  double cap = 0;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] static NodeNote parse(std::string_view text);
};

class Roster {
 public:
  struct Member {
    std::string id;
    NodeNote note;
    Instant end;  ///< when its lease ends unless it is renewed
  };

  Roster() = default;
  /// `leases` are those of nodes, whose names begin with `prefix`; they were asked for at `asked`.
  Roster(std::vector<LeaseInfo> const& leases, std::string_view prefix, Instant asked);

  [[nodiscard]] bool has(std::string_view id) const;
  [[nodiscard]] std::vector<Member> const& members() const noexcept { return members_; }
  /// Those that want endpoints, in order of id.
  [[nodiscard]] std::vector<rendezvous::Node> const& nodes() const noexcept { return nodes_; }
  /// When the first of the others' leases ends.
  [[nodiscard]] std::optional<Instant> next_end(std::string_view but_of) const;

 private:
  std::vector<Member> members_;  ///< in order of id
  std::vector<rendezvous::Node> nodes_;
};

}  // namespace holt
