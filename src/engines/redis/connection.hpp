// SPDX-License-Identifier: Apache-2.0
#pragma once
// One connection that carries the commands of all calls: what is asked for in one turn of the loop
// goes out in one write, and replies are matched in order. It connects when first needed and again
// after a break, not more often than a growing pause allows. Calls wait for that as long as they
// have time, unless what went wrong will not get better by itself.
// Behind Sentinels it asks them for the master whenever it connects, and every two seconds while
// there are calls; after a longer silence a call waits until they have answered. A server that is
// no master any more, or that most of them no longer name, is left.
// All of it on Env::executor(), but for the constructor and the destructor.

#include "contracts/env.hpp"
#include "engines/redis/place.hpp"
#include "engines/redis/reply.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace holt::redis {

/// Whom we are connected to; read on connecting.
struct Server {
  std::uint64_t generation = 0;  ///< grows with each connection
  std::string identity;          ///< another one after a promotion
  std::string version;
};

/// What a call does if it gets there: decides what is said when its answer is lost.
enum class Effect { reads, writes };

/// What is done when connecting fails, though the next attempt may succeed.
enum class Retry { while_there_is_time, never };

struct TwoReplies {
  Reply first;
  Reply second;
};

class Connection {
 public:
  using Push = std::function<void(ReplyView const&)>;

  Connection(Env& env, Place place);
  ~Connection();
  Connection(Connection const&) = delete;
  Connection& operator=(Connection const&) = delete;

  /// Calls that are under way fail, and later ones too. Not on Env::executor(), which must still
  /// run.
  void close();

  /// For a connection that subscribes: called with each message, and when the connection is lost.
  void listen(Push push, std::function<void()> lost);

  /// Called whenever it has connected, beside those that were given before; before the first call.
  void on_connected(std::function<void()> connected);
  /// Leaves this server, if connected; the next call connects again.
  void leave();

  /// Waits until connected; throws EngineError with outcome not_applied. What is called before the
  /// coroutine suspends again goes to this server or fails.
  asio::awaitable<void> ready(std::string_view operation, Instant deadline,
                              Retry retry = Retry::while_there_is_time);
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] Server const& server() const;  ///< while ready
  /// Why it is not connected, as far as that is known; else empty.
  [[nodiscard]] std::string trouble() const;

  /// Sends a command and waits for its reply. An error reply is a reply, too. Throws EngineError
  /// when there is none in time; a late one is dropped.
  asio::awaitable<Reply> call(std::string command, Effect effect, std::string_view operation,
                              Instant deadline);

  /// The same for two commands in a row, of which the first writes. If the first reply is an error
  /// the second may be missing.
  asio::awaitable<TwoReplies> call(std::string command, std::string then,
                                   std::string_view operation, Instant deadline);

  /// Sends a command whose reply nobody waits for. Lost while not connected.
  void tell(std::string command);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace holt::redis
