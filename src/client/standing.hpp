// SPDX-License-Identifier: Apache-2.0
#pragma once
// Standing: an Election's inside: the candidate and what keeps its client alive.

#include "client/listener_gate.hpp"
#include "primitives/election.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace holt::client {

class Core;

class Standing {
 public:
  Standing(std::shared_ptr<Core> core, std::unique_ptr<Candidate> candidate, Name election)
      : core_(std::move(core)), candidate_(std::move(candidate)), election_(std::move(election)) {}
  /// Stops it. In a forked child the other half is in the parent: then nothing is cleaned up.
  ~Standing();
  Standing(Standing const&) = delete;
  Standing& operator=(Standing const&) = delete;

  [[nodiscard]] Core& core() const noexcept { return *core_; }
  [[nodiscard]] Candidate& candidate() const noexcept { return *candidate_; }
  [[nodiscard]] Name const& election() const noexcept { return election_; }
  /// One at a time stops, and one resigns. A stop does not wait until a successor has answered.
  [[nodiscard]] std::mutex& stop_turn() noexcept { return stop_turn_; }
  [[nodiscard]] std::mutex& resign_turn() noexcept { return resign_turn_; }

  Election::Registration add(Election::Listener listener, Election::Listen how);
  void remove(Election::Registration registration);

 private:
  std::shared_ptr<Core> core_;
  std::unique_ptr<Candidate> candidate_;
  Name election_;
  std::mutex stop_turn_;
  std::mutex resign_turn_;
  std::mutex gates_mutex_;
  std::map<Election::Registration, std::shared_ptr<ListenerGate>> gates_;
};

}  // namespace holt::client
