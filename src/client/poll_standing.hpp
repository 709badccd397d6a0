// SPDX-License-Identifier: Apache-2.0
#pragma once
// PollStanding: a Polling's inside: the poller and what keeps its client alive.

#include "client/call_gate.hpp"
#include "primitives/polling.hpp"
#include "primitives/turns.hpp"

#include <memory>
#include <utility>

namespace holt::client {

class Core;

class PollStanding {
 public:
  PollStanding(std::shared_ptr<Core> core, Env& env, std::unique_ptr<Poller> poller, Name polling)
      : core_(std::move(core)),
        poller_(std::move(poller)),
        polling_(std::move(polling)),
        stop_turns_(env) {}
  /// Stops it. In a forked child the other half is in the parent: then nothing is cleaned up.
  ~PollStanding();
  PollStanding(PollStanding const&) = delete;
  PollStanding& operator=(PollStanding const&) = delete;

  [[nodiscard]] Core& core() const noexcept { return *core_; }
  [[nodiscard]] std::shared_ptr<Core> const& shared_core() const noexcept { return core_; }
  [[nodiscard]] Poller& poller() const noexcept { return *poller_; }
  [[nodiscard]] Name const& polling() const noexcept { return polling_; }
  [[nodiscard]] std::shared_ptr<CallGate> const& gate() const noexcept { return gate_; }

  /// What the user gets of a duty, or of the rounds: it keeps the client alive.
  template <class T>
  [[nodiscard]] static std::shared_ptr<T> with_client(std::shared_ptr<Core> core,
                                                      std::shared_ptr<T> part) {
    using Both = std::pair<std::shared_ptr<Core>, std::shared_ptr<T>>;
    auto* const inside = part.get();
    return {std::make_shared<Both>(std::move(core), std::move(part)), inside};
  }
  /// To run on Env::executor(); it must end before this goes.
  asio::awaitable<bool> stop(Nanos patience);

 private:
  std::shared_ptr<Core> core_;
  std::unique_ptr<Poller> poller_;
  Name polling_;
  Turns stop_turns_;  ///< one at a time stops
  std::shared_ptr<CallGate> gate_ = std::make_shared<CallGate>();
};

}  // namespace holt::client
