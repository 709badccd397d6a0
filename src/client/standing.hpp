// SPDX-License-Identifier: Apache-2.0
#pragma once
// Standing: an Election's inside: the candidate and what keeps its client alive.

#include "client/letterbox.hpp"
#include "client/listener_gate.hpp"
#include "primitives/election.hpp"
#include "primitives/turns.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace holt::client {

class Core;

class Standing {
 public:
  Standing(std::shared_ptr<Core> core, Env& env, std::unique_ptr<Candidate> candidate,
           Name election)
      : core_(std::move(core)),
        candidate_(std::move(candidate)),
        election_(std::move(election)),
        stop_turns_(env),
        resign_turns_(env) {}
  /// Stops it. In a forked child the other half is in the parent: then nothing is cleaned up.
  ~Standing();
  Standing(Standing const&) = delete;
  Standing& operator=(Standing const&) = delete;

  [[nodiscard]] Core& core() const noexcept { return *core_; }
  [[nodiscard]] Candidate& candidate() const noexcept { return *candidate_; }
  [[nodiscard]] Name const& election() const noexcept { return election_; }

  // What Election does, to run on Env::executor(); it must end before this goes. Wrong input is
  // thrown at once.
  asio::awaitable<Resignation> stop(std::chrono::milliseconds patience);
  asio::awaitable<Resignation> resign(std::string_view to, std::chrono::milliseconds patience);
  /// What is told from now on; before that, while it leads, how this term began.
  asio::awaitable<std::shared_ptr<Letterbox>> letters(Election::Listen how);

  Election::Registration add(Election::Listener listener, Election::Listen how);
  void remove(Election::Registration registration);

 private:
  asio::awaitable<Resignation> stop_in_turn(Nanos patience);
  asio::awaitable<Resignation> resign_in_turn(std::string to, Nanos patience);

  std::shared_ptr<Core> core_;
  std::unique_ptr<Candidate> candidate_;
  Name election_;
  Turns stop_turns_;    ///< one at a time stops
  Turns resign_turns_;  ///< and one resigns: a stop does not wait until a successor has answered
  std::mutex gates_mutex_;
  std::map<Election::Registration, std::shared_ptr<ListenerGate<ElectionEvent>>> gates_;
};

}  // namespace holt::client
