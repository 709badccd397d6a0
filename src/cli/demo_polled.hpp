// SPDX-License-Identifier: Apache-2.0
#pragma once
// The polled side of `holt demo`: what its endpoints see, poll by poll, and whether that was right.
// Polls may be told in any order: they are judged by their times.

#include <holt/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace holt::cli {

/// One worker's time with the lock, or as the leader: then the fence is its term; or one poll.
struct Stay {
  int worker = 0;
  std::uint64_t fence = 0;
  Instant from;
  Instant until;  ///< when it left, was killed, or had to stop believing
};

class PolledSide {
 public:
  explicit PolledSide(std::size_t endpoints) : polls_(endpoints) {}

  void begins(std::size_t endpoint, int worker, std::uint64_t fence, Instant at);
  void ends(std::size_t endpoint, int worker, Instant at);
  /// All that a worker was doing ended then.
  void dies(int worker, Instant at);

  /// Who began the last poll; 0: nobody yet.
  [[nodiscard]] int poller(std::size_t endpoint) const noexcept;
  /// The first poll of those that its last poller made since somebody else did; it must have one.
  [[nodiscard]] Instant since(std::size_t endpoint) const noexcept;
  /// The same of all endpoints: the last of them.
  [[nodiscard]] Instant since() const noexcept;
  /// What a worker polls, as letters: "a c f".
  [[nodiscard]] std::string endpoints_of(int worker) const;
  /// These workers poll all endpoints, none of them two more than another.
  [[nodiscard]] bool shared_by(std::vector<int> const& workers) const;

  [[nodiscard]] std::size_t polls() const noexcept;
  /// Each endpoint was polled, never twice at once; its fence never fell, and grew with each move.
  [[nodiscard]] bool one_at_a_time() const noexcept;

 private:
  std::vector<std::vector<Stay>> polls_;  ///< of each endpoint, in order of their beginnings
};

}  // namespace holt::cli
