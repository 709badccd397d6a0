// SPDX-License-Identifier: Apache-2.0
#pragma once
// Session: a connection on the loop. Calls go out one behind the other without waiting (libpq's
// pipeline mode), each a transaction of its own, and answers come in order.
// A call is done when its transaction is: the server sends rows before it commits, so an answer
// counts only with the "ready" behind it.
// Statements that say so are kept prepared here, with the first call of each. If the server has
// forgotten one, or what it answers has changed, the call was not applied and is sent once more,
// whole. Behind a pooler nothing is kept: the next transaction may be on another connection.
// All of it on Env::executor(). It ends with the first break; a Pool makes another.

#include "contracts/env.hpp"
#include "engines/postgres/answer.hpp"
#include "engines/postgres/link.hpp"
#include "engines/postgres/parameters.hpp"
#include "engines/postgres/statement.hpp"

#include <holt/error.hpp>

#include <boost/asio/posix/stream_descriptor.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace holt::postgres {

/// What a call does if it gets there: decides what is said when its answer is lost.
enum class Effect { reads, writes };

struct Call {
  std::move_only_function<void(std::exception_ptr, Answer)> done;  ///< empty: given up
  Statement statement;
  Parameters parameters;
  std::string operation;
  Effect effect = Effect::reads;
  Instant deadline;
  // Filled on the way.
  Instant sent;
  Answer answer;
  std::optional<EngineError> failure;
  bool local_only = false;  ///< committed, but no standby confirmed it
  bool prepares = false;    ///< its statement is prepared with it
  bool by_name = false;     ///< its statement is one that is kept
  bool again = false;       ///< it could not be had by name

  /// Ends it with what went wrong, which a read never did.
  void fail(EngineError const& why, Outcome if_written);
  void succeed();
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  struct Events {
    std::function<void()> free;                    ///< a call has ended
    std::function<void(EngineError const&)> lost;  ///< once; it is closed
    std::function<void(std::string_view channel, std::string_view said)> heard;
  };
  enum class Mode { pipeline, one_by_one };

  Session(Env& env, Link link, Mode mode);
  ~Session();
  Session(Session const&) = delete;
  Session& operator=(Session const&) = delete;

  void start(Events events);
  void submit(Call call);
  /// What is under way fails; nobody is told that the session is lost.
  void close(EngineError const& why);
  /// The same, but the owner is told: this server is not to be used.
  void leave(EngineError const& why);

  [[nodiscard]] bool is_open() const { return connection_ != nullptr; }
  [[nodiscard]] std::size_t load() const { return in_flight_.size() + waiting_.size(); }
  [[nodiscard]] Server const& server() const { return server_; }
  [[nodiscard]] Instant born() const { return born_; }
  [[nodiscard]] Instant last_used() const { return last_used_; }

 private:
  static void on_notice(void* session, PGresult const* notice);

  void transmit(Call call);
  [[nodiscard]] int send(Call& call);
  [[nodiscard]] int send_by_name(Call& call);
  [[nodiscard]] bool lost_by_name(Call const& call);
  void flush();
  void read();
  void take_results();
  void take(Answer result);
  void finish();
  void hear();
  void lose(EngineError const& why);
  void end(EngineError const& why);
  void watch(Instant deadline);
  void look_at_clock();

  Env& env_;
  Mode const mode_;
  Server const server_;
  Link::Connection connection_;
  std::optional<asio::posix::stream_descriptor> socket_;  ///< as long as it is open
  Events events_;
  std::deque<Call> in_flight_;
  std::deque<Call> waiting_;        ///< one_by_one: behind the one in flight
  std::set<std::string> kept_;      ///< names of statements that are prepared, or about to be
  std::set<std::string> outdated_;  ///< of those that answer something else by now
  std::size_t losses_ = 0;          ///< of what was kept
  bool keeps_;                      ///< statements, on this connection
  bool writing_ = false;
  bool leave_ = false;
  Instant born_;
  Instant last_used_;
  Instant last_received_;
  Instant alarm_ = Instant::max();
};

}  // namespace holt::postgres
