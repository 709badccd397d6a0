// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rendezvous hashing: who of some nodes should have which endpoints. Pure: the same sets give the
// same answer everywhere.
//
// Each node has a weight for each endpoint, made of both names; the heaviest is nominated. So a
// node that comes takes only what it is heaviest for, and of a node that goes only its own
// endpoints move.
//
// With a cap each node has places for `cap` times its share. Endpoints go to their heaviest node;
// one that is full keeps its heaviest endpoints and turns the lightest away, to the next node of
// that endpoint's own order. This is a stable matching: it does not depend on the order in which
// endpoints come, and there is only one, as both sides go by the same weights.

#include <holt/polling.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holt::rendezvous {

struct Node {
  std::string id;
  double share = 1;  ///< beside the others'; above 0

  friend bool operator==(Node const&, Node const&) = default;
};

/// FNV-1a, 64 bits, over both texts without anything between them; `mixed` through a finaliser that
/// lets each bit of it depend on all others.
[[nodiscard]] std::uint64_t weight(PollWeights weights, std::string_view node,
                                   std::string_view endpoint);

/// For each endpoint the index of its node. There must be a node. Equal weights: the first node.
/// `cap` 0: none; else at least 1.
[[nodiscard]] std::vector<std::size_t> nominate(std::span<Node const> nodes,
                                                std::span<std::string const> endpoints,
                                                PollWeights weights, double cap);

}  // namespace holt::rendezvous
