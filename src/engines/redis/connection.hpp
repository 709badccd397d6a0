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
#include "engines/redis/batch.hpp"
#include "engines/redis/place.hpp"
#include "engines/redis/reply.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

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

/// How much may be under way on a connection. The next calls wait here, and beyond that are
/// refused.
struct Limits {
  std::size_t in_flight = 10'000;
  std::size_t in_flight_bytes = std::size_t{64} << 20U;
  std::size_t waiting = 100'000;
  std::size_t waiting_bytes = std::size_t{256} << 20U;
};

/// What comes of a call: a reply, which may say that the server refused it, or the EngineError that
/// says why there is none.
using Answer = std::expected<Reply, std::exception_ptr>;

/// The reply; throws EngineError where there is none.
[[nodiscard]] inline Reply reply_of(Answer answer) {
  if (!answer) std::rethrow_exception(answer.error());
  return std::move(*answer);
}

class Connection {
 public:
  using Push = std::function<void(ReplyView const&)>;

  Connection(Env& env, Place place, Limits const& limits = {});
  ~Connection();
  Connection(Connection const&) = delete;
  Connection& operator=(Connection const&) = delete;

  /// Calls that are under way fail, and later ones too. Not on Env::executor(), which must still
  /// run.
  void close();
  /// The same on Env::executor(); `why` is what the calls are told.
  void end(std::string_view why);

  /// Asked before each attempt to connect for the server to connect to, where the place names none.
  void find_by(std::function<Endpoint()> find);

  /// For a connection that subscribes: called with each message, and when the connection is lost.
  void listen(Push push, std::function<void()> lost);

  /// Called whenever it has connected, beside those that were given before; before the first call.
  void on_connected(std::function<void()> connected);
  /// Leaves this server, if connected; the next call connects again.
  void leave();
  /// Asks the server, if connected, whether it is the master that it was, with the same history,
  /// and leaves it if not. Answers to later calls are not heard before that is known.
  void check_again();

  /// Waits until connected; throws EngineError with outcome not_applied. What is called before the
  /// coroutine suspends again goes to this server or fails.
  asio::awaitable<void> ready(std::string_view operation, Instant deadline,
                              Retry retry = Retry::while_there_is_time);
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] Server const& server() const;  ///< while ready
  [[nodiscard]] Endpoint where() const;        ///< while ready
  /// Why it is not connected, as far as that is known; else empty.
  [[nodiscard]] std::string trouble() const;

  /// Sends a command; `co_await` gives the Answer. A reply that comes after the deadline is
  /// dropped. Not a coroutine, which would cost more than all else that is done here: `command`
  /// stays until it is awaited, and `operation` is a literal, as everywhere in this class.
  auto call(std::string_view command, Effect effect, std::string_view operation, Instant deadline) {
    auto const initiate = [](auto done, Connection* self, std::string_view bytes, Effect does,
                             std::string_view what, Instant until) {
      self->start(std::move(done), bytes, does, what, until);
    };
    return asio::async_initiate<asio::deferred_t const, void(Answer)>(
        initiate, asio::deferred, this, command, effect, operation, deadline);
  }

  /// The same for a step that is sent together with those that others ask for in the same turn of
  /// the loop. Each has its own answer, deadline and outcome, and those of one name keep their
  /// order. An empty reply: it was not decided and changed nothing, so its alone() must be called.
  /// `step` stays until this is awaited.
  auto call_with_others(Step const& step, Effect effect, std::string_view operation,
                        Instant deadline) {
    auto const initiate = [](auto done, Connection* self, Step const* what, Effect does,
                             std::string_view for_what, Instant until) {
      self->start_with_others(std::move(done), *what, does, for_what, until);
    };
    return asio::async_initiate<asio::deferred_t const, void(Answer)>(
        initiate, asio::deferred, this, &step, effect, operation, deadline);
  }

  /// Two commands in a row, of which the first writes. If the first reply is an error the second
  /// may be missing. Throws EngineError where there is none in time.
  asio::awaitable<TwoReplies> call_both(std::string command, std::string then,
                                        std::string_view operation, Instant deadline);

  /// Sends a command whose reply nobody waits for; what is called before the coroutine suspends
  /// again follows it at once.
  void tell(std::string_view command);

 private:
  using Done = std::move_only_function<void(Answer)>;
  struct State;
  void start(Done done, std::string_view command, Effect effect, std::string_view operation,
             Instant deadline);
  void start_with_others(Done done, Step const& step, Effect effect, std::string_view operation,
                         Instant deadline);

  std::shared_ptr<State> state_;
};

}  // namespace holt::redis
