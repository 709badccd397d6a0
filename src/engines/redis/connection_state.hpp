// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is behind a Connection.

#include "engines/redis/connection.hpp"
#include "engines/redis/errors.hpp"
#include "engines/redis/handshake.hpp"
#include "engines/redis/sentinel.hpp"
#include "engines/redis/socket.hpp"

#include <boost/asio/awaitable.hpp>

#include <array>
#include <deque>
#include <expected>
#include <optional>
#include <utility>
#include <vector>

namespace holt::redis {

/// For a call that has no reply.
[[nodiscard]] inline Answer no_reply(EngineError const& why) {
  return std::unexpected(std::make_exception_ptr(why));
}

struct Connection::State : std::enable_shared_from_this<State> {
  static constexpr std::chrono::milliseconds first_pause{10};
  static constexpr std::chrono::seconds look_every{2};  ///< whether this is still the master
  static constexpr std::chrono::seconds trust_for{4};   ///< so long a call need not wait for a look

  /// A call on its way.
  struct Call {
    Done done;  ///< empty: given up, its reply will be dropped
    std::string_view operation;
    Effect effect = Effect::reads;
    Instant deadline;
    std::size_t size = 0;     ///< in bytes, with those that share its reply
    std::size_t sharers = 1;  ///< so many calls from this one on have one reply, a list
    Instant sent{};           ///< none yet: it is in `out`

    [[nodiscard]] bool may_have_happened() const {
      return sent != Instant() && effect == Effect::writes;
    }
  };
  /// Calls that were asked for in this turn and go out as one.
  struct Gathering {
    Batch batch;
    std::vector<Call> calls;
    bool unknown = false;  ///< the server did not know the script
  };
  /// One that there was no room for yet.
  struct WaitingCall {
    Call call;
    std::string bytes;
  };
  struct Waiter {
    Done done;
    std::string_view operation;
    Instant deadline;
    Retry retry = Retry::while_there_is_time;
  };
  enum class Stage { idle, connecting, ready, closed };

  State(Env& of, Place where, Limits const& within)
      : env(of), place(std::move(where)), limits(within), target(place) {
    if (!place.sentinels.empty()) sentinels.emplace(env, place);
  }

  void connect();
  /// At once, or after the pause.
  void connect_when_allowed();
  [[nodiscard]] bool pausing() const {
    return stage == Stage::idle && trouble && env.now() < next_attempt;
  }
  asio::awaitable<void> connect_now();
  void connected(Greeting greeting);
  void lose(EngineError const& because);
  [[nodiscard]] EngineError with_hint(EngineError const& why) const;
  [[nodiscard]] bool confirmed_longer_ago_than(std::chrono::seconds span) const {
    return sentinels && !push && env.now() >= confirmed + span;
  }
  void look_for_master();
  void check_again();
  asio::awaitable<void> ask_for_master();
  void fail(Call& call, EngineError const& why);
  void fail_waiters(EngineError const& why);

  void submit(Call call, std::string_view bytes);
  [[nodiscard]] bool room_for(std::size_t bytes) const;
  void transmit(Call call, std::string_view bytes);
  [[nodiscard]] bool may_gather() const { return waiting.empty() && room_for(0); }
  void gather(Call call, Step const& step);
  void end_gathering();
  void end_gathering(Gathering& gathered);
  void flush_soon();
  void transmit_waiting();
  void flush();
  void read();
  void take(std::string_view bytes);
  void answer(Reply reply);
  void answer_all(Call first, Reply reply);

  [[nodiscard]] EngineError no_answer(std::string_view operation, Outcome outcome) const;
  [[nodiscard]] EngineError no_connection(std::string_view operation) const;
  [[nodiscard]] EngineError too_late(std::string_view operation) const;
  void watch(Instant deadline);
  void look_at_clock();

  Env& env;
  Place const place;
  Limits const limits;
  Place target;  ///< the server itself, where `place` names Sentinels or a cluster
  std::optional<Sentinels> sentinels;
  Instant confirmed;               ///< when the Sentinels last named this server
  bool looking = false;            ///< they are being asked
  bool closed = false;             ///< not on the executor: whoever closes
  std::function<Endpoint()> find;  ///< empty: `place` says where the server is
  bool checking = false;           ///< it is being asked whether it is the one that it was
  Push push;
  std::function<void()> lost;
  std::vector<std::function<void()>> on_connected;
  Stage stage = Stage::idle;
  Server server;
  std::uint64_t attempts = 0;

  std::optional<EngineError> trouble;  ///< why the last attempt failed
  Instant next_attempt;
  bool alarm_set = false;  ///< for the next attempt
  std::chrono::milliseconds pause = first_pause;
  std::vector<Waiter> waiters;

  std::shared_ptr<Socket> opening;  ///< not connected yet
  std::shared_ptr<Socket> socket;
  ReplyReader reader;
  std::array<char, 64 * 1024> received{};
  Instant last_received;
  std::string out;                   ///< to be written
  std::string writing;               ///< being written; empty: nothing is
  bool flushing = false;             ///< a flush is about to come
  std::size_t unsent = 0;            ///< calls at the end of in_flight that are only in `out`
  std::vector<Gathering> gathering;  ///< one for each kind of step; empty between turns
  std::deque<Call> in_flight;
  std::size_t in_flight_bytes = 0;
  std::deque<WaitingCall> waiting;
  std::size_t waiting_bytes = 0;
  Instant alarm = Instant::max();
};

}  // namespace holt::redis
