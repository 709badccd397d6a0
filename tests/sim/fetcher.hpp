// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fetcher: one node of a polling. In the storm it polls what is due, stops and starts again, adds,
// removes and pauses endpoints; polls take their time, and some do not listen when they are told to
// stop. When the world has healed it takes part until all endpoints have settled. What it sees goes
// to the PollBoard, which judges.

#include "primitives/polling.hpp"
#include "sim/client.hpp"
#include "sim/poll_board.hpp"

#include <map>
#include <memory>
#include <string>

namespace holt::sim {

class Fetcher {
 public:
  /// So many polls of a node at a time: fetch() is to be run as often.
  static constexpr int at_once = 2;

  Fetcher(Tools tools, PollTools parts, PollBoard& board, std::string const& name);

  /// Works until all have settled in a healthy world, or until the end, or until its node is dead.
  asio::awaitable<void> run();
  asio::awaitable<void> fetch();

  void die();
  [[nodiscard]] bool served() const { return dead_ || board_.settled(); }

 private:
  [[nodiscard]] bool over() const { return dead_ || board_.settled() || tools_.phase.ending; }
  asio::awaitable<void> sleep(Nanos for_how_long);
  asio::awaitable<void> act();
  asio::awaitable<void> stop_and_start();
  asio::awaitable<void> break_one();
  asio::awaitable<void> expect_nothing_left();
  asio::awaitable<void> poll(PollTurn turn);
  Nanos choose_length();
  void write(KeptLease const& lease);
  void restore();
  void begin();
  void assigned(std::shared_ptr<Duty> const& duty);
  void lost(std::string const& endpoint, ReleaseReason reason);
  void expect(bool is_so, std::string const& promise);
  std::string some_endpoint();

  Tools tools_;
  PollBoard& board_;
  Random random_;
  Poller poller_;
  std::map<std::string, std::shared_ptr<Duty>> ours_;  ///< as it was told
  std::map<std::string, Instant> started_;             ///< the last poll, by owner
  bool restored_ = false;
  bool closing_ = false;
  bool dead_ = false;
};

}  // namespace holt::sim
