// SPDX-License-Identifier: Apache-2.0
#include "primitives/rendezvous.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <numeric>
#include <optional>

namespace holt::rendezvous {
namespace {

constexpr std::uint64_t fnv_offset = 14695981039346656037U;
constexpr std::uint64_t fnv_prime = 1099511628211U;

constexpr std::uint64_t fnv1a(std::uint64_t hash, std::string_view text) {
  for (char const byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * fnv_prime;
  return hash;
}

/// The finaliser of MurmurHash3.
constexpr std::uint64_t mix(std::uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdU;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53U;
  return hash ^ (hash >> 33);
}

constexpr std::uint64_t finish(PollWeights weights, std::uint64_t hash) {
  return weights == PollWeights::mixed ? mix(hash) : hash;
}

/// How much a node is for an endpoint: greater wins. With equal shares the raw weight decides, for
/// the score is a monotone function of it.
struct Claim {
  double score = 0;
  std::uint64_t raw = 0;
  std::size_t node = 0;

  friend bool operator<(Claim const& a, Claim const& b) {
    if (a.score != b.score) return a.score < b.score;
    if (a.raw != b.raw) return a.raw < b.raw;
    return a.node > b.node;
  }
};

class Nomination {
 public:
  Nomination(std::span<Node const> nodes, std::span<std::string const> endpoints,
             PollWeights weights)
      : nodes_(nodes), endpoints_(endpoints), weights_(weights) {
    for (auto const& node : nodes) begun_.push_back(fnv1a(fnv_offset, node.id));
    auto const same = [&](Node const& node) { return node.share == nodes.front().share; };
    even_ = std::ranges::all_of(nodes, same);
  }

  [[nodiscard]] Claim claim(std::size_t node, std::size_t endpoint) const {
    auto const raw = finish(weights_, fnv1a(begun_[node], endpoints_[endpoint]));
    if (even_) return {0, raw, node};
    // In (0, 1): the logarithm is never 0.
    auto const chance = (static_cast<double>(raw >> 12) + 0.5) * 0x1p-52;
    return {-nodes_[node].share / std::log(chance), raw, node};
  }

  /// The greatest claim of all nodes, or of those below `bound`.
  [[nodiscard]] Claim best(std::size_t endpoint, std::optional<Claim> bound = {}) const {
    std::optional<Claim> best;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      auto const here = claim(node, endpoint);
      if (bound && !(here < *bound)) continue;
      if (!best || *best < here) best = here;
    }
    HOLT_CHECK(best);
    return *best;
  }

 private:
  std::span<Node const> nodes_;
  std::span<std::string const> endpoints_;
  PollWeights weights_;
  std::vector<std::uint64_t> begun_;  ///< FNV-1a of each node's id
  bool even_ = true;
};

/// An endpoint that a node has taken, for a heap whose top is the one that it would give up first.
struct Taken {
  Claim claim;
  std::size_t endpoint;

  friend bool operator<(Taken const& a, Taken const& b) {
    if (a.claim < b.claim) return false;
    if (b.claim < a.claim) return true;
    return a.endpoint < b.endpoint;
  }
};

std::vector<std::size_t> places_of(std::span<Node const> nodes, std::size_t endpoints, double cap) {
  auto const all = std::accumulate(nodes.begin(), nodes.end(), 0.0,
                                   [](double sum, Node const& node) { return sum + node.share; });
  std::vector<std::size_t> places;
  for (auto const& node : nodes) {
    auto const share = cap * static_cast<double>(endpoints) * node.share / all;
    places.push_back(static_cast<std::size_t>(std::ceil(share)));
  }
  return places;
}

}  // namespace

std::uint64_t weight(PollWeights weights, std::string_view node, std::string_view endpoint) {
  return finish(weights, fnv1a(fnv1a(fnv_offset, node), endpoint));
}

std::vector<std::size_t> nominate(std::span<Node const> nodes,
                                  std::span<std::string const> endpoints, PollWeights weights,
                                  double cap) {
  HOLT_CHECK(!nodes.empty());
  Nomination const nomination(nodes, endpoints, weights);
  std::vector<std::size_t> nominated(endpoints.size());
  if (cap == 0) {
    for (std::size_t i = 0; i < endpoints.size(); ++i) nominated[i] = nomination.best(i).node;
    return nominated;
  }
  auto const places = places_of(nodes, endpoints.size(), cap);
  std::vector<std::vector<Taken>> taken(nodes.size());
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    std::optional<Taken> looking = Taken{nomination.best(i), i};
    while (looking) {
      auto const node = looking->claim.node;
      auto& there = taken[node];
      there.push_back(*looking);
      std::push_heap(there.begin(), there.end());
      looking.reset();
      if (there.size() <= places[node]) break;
      std::pop_heap(there.begin(), there.end());
      auto const away = there.back();
      there.pop_back();
      looking = Taken{nomination.best(away.endpoint, away.claim), away.endpoint};
    }
  }
  for (auto const& node : taken) {
    for (auto const& has : node) nominated[has.endpoint] = has.claim.node;
  }
  return nominated;
}

}  // namespace holt::rendezvous
