// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/connection.hpp"

#include "engines/redis/errors.hpp"
#include "engines/redis/handshake.hpp"
#include "engines/redis/sentinel.hpp"
#include "engines/redis/socket.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <future>
#include <optional>
#include <utility>
#include <vector>

namespace holt::redis {
namespace {

constexpr std::size_t max_in_flight = 10'000;  // calls; the next ones wait here
constexpr std::size_t max_waiting = 100'000;
constexpr std::chrono::milliseconds first_pause{10};
constexpr std::chrono::milliseconds longest_pause{1000};
constexpr std::chrono::seconds look_every{2};  // whether this is still the master
constexpr std::chrono::seconds trust_for{4};   // so long a call need not wait for such a look

using Done = std::move_only_function<void(std::exception_ptr, Reply)>;

std::exception_ptr as_pointer(EngineError const& error) { return std::make_exception_ptr(error); }

}  // namespace

struct Connection::State : std::enable_shared_from_this<State> {
  /// A call on its way.
  struct Call {
    Done done;  ///< empty: given up, its reply will be dropped
    std::string operation;
    Effect effect = Effect::reads;
    Instant deadline;
    Instant sent;
    bool written = false;
    std::string bytes;  ///< until it is sent
  };
  struct Waiter {
    Done done;
    std::string operation;
    Instant deadline;
  };
  enum class Stage { idle, connecting, ready, closed };

  State(Env& of, Place where) : env(of), place(std::move(where)), target(place) {
    if (!place.sentinels.empty()) sentinels.emplace(env, place);
  }

  void connect();
  asio::awaitable<void> connect_now();
  void connected(Greeting greeting);
  void lose(EngineError const& why);
  [[nodiscard]] bool confirmed_longer_ago_than(std::chrono::seconds span) const {
    return sentinels && !push && env.now() >= confirmed + span;
  }
  void look_for_master();
  asio::awaitable<void> ask_for_master();
  void fail_calls(std::deque<Call>& failing, EngineError const& why);

  void submit(Call call);
  void transmit(Call call);
  void flush();
  void read();
  void take(std::string_view bytes);
  void answer(Reply reply);

  void watch(Instant deadline);
  void look_at_clock();

  Env& env;
  Place const place;
  Place target;  ///< the server itself, where `place` names Sentinels
  std::optional<Sentinels> sentinels;
  Instant confirmed;     ///< when the Sentinels last named this server
  bool looking = false;  ///< they are being asked
  bool closed = false;   ///< not on the executor: whoever closes
  Push push;
  std::function<void()> lost;
  std::function<void()> on_connected;
  Stage stage = Stage::idle;
  Server server;
  std::uint64_t attempts = 0;

  std::optional<EngineError> trouble;  ///< why the last attempt failed
  Instant next_attempt;
  std::chrono::milliseconds pause = first_pause;
  std::vector<Waiter> waiters;

  std::shared_ptr<Socket> opening;  ///< not connected yet
  std::shared_ptr<Socket> socket;
  ReplyReader reader;
  std::array<char, 64 * 1024> received{};
  Instant last_received;
  std::string out;         ///< to be written
  std::string writing;     ///< being written; empty: nothing is
  bool flushing = false;   ///< a flush is posted
  std::size_t unsent = 0;  ///< calls at the end of in_flight that are only in `out`
  std::deque<Call> in_flight;
  std::deque<Call> waiting;
  Instant alarm = Instant::max();
};

// Connecting.

void Connection::State::connect() {
  stage = Stage::connecting;
  auto const attempt = ++attempts;
  env.call_at(env.now() + place.connect_timeout, [weak = weak_from_this(), attempt] {
    auto const self = weak.lock();
    if (!self || self->attempts != attempt || self->stage != Stage::connecting) return;
    self->lose(failed(ErrorCode::network_timeout, Outcome::not_applied, "connect",
                      "no connection to " + self->place.url() + " in time",
                      self->place.tls ? "is the server up, does it speak TLS on this port, and is "
                                        "a firewall in the way?"
                                      : "is the server up, and is a firewall in the way?"));
  });
  auto const executor = env.executor();
  asio::co_spawn(executor, connect_now(), [self = shared_from_this()](std::exception_ptr) {});
}

asio::awaitable<void> Connection::State::connect_now() {
  auto const attempt = attempts;
  std::optional<EngineError> error;
  try {
    if (sentinels) {
      confirmed = env.now();
      Endpoint const master = co_await sentinels->master();
      if (attempts != attempt || stage != Stage::connecting) co_return;
      target = place;
      target.sentinels.clear();
      target.host = master.host;
      target.port = master.port;
      if (push) sentinels->hang_up();
    }
    auto const made = std::make_shared<Socket>(env.executor());
    opening = made;
    co_await made->connect(target);
    if (attempts != attempt || stage != Stage::connecting) co_return;
    socket = std::exchange(opening, nullptr);
    reader = ReplyReader();
    read();
    Greeting greeting;
    auto const ask = [this](std::string command) {
      return asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr, Reply)>(
          [](auto handler, State* self, std::string bytes) {
            Call call;
            call.done = [handler = std::move(handler)](std::exception_ptr failure,
                                                       Reply reply) mutable {
              std::move(handler)(std::move(failure), std::move(reply));
            };
            call.operation = "connect";
            call.deadline = Instant::max();
            call.bytes = std::move(bytes);
            self->transmit(std::move(call));
          },
          asio::use_awaitable, this, std::move(command));
    };
    for (auto const& step : greeting_steps(target)) {
      Reply const reply = co_await ask(step.command);
      step.take(*reply, greeting);
    }
    check(greeting, target);
    if (attempts == attempt && stage == Stage::connecting) connected(std::move(greeting));
  } catch (EngineError const& thrown) {
    error = thrown;
  } catch (std::exception const& thrown) {
    error = failed(ErrorCode::service_unavailable, Outcome::not_applied, "connect", thrown.what(),
                   "is this a Redis server?");
  }
  if (error && attempts == attempt && stage == Stage::connecting) lose(*error);
}

void Connection::State::connected(Greeting greeting) {
  stage = Stage::ready;
  pause = first_pause;
  trouble.reset();
  server = {attempts, std::move(greeting.identity), std::move(greeting.version)};
  if (on_connected) on_connected();
  auto woken = std::exchange(waiters, {});
  for (auto& waiter : woken) waiter.done(nullptr, Reply());
}

/// The connection is gone, or was never made. Everything on it fails, truthfully.
void Connection::State::lose(EngineError const& why) {
  if (stage == Stage::closed) return;
  bool const was_ready = stage == Stage::ready;
  stage = Stage::idle;
  trouble = why;
  next_attempt =
      was_ready
          ? env.now()
          : env.now() + pause / 2 +
                std::chrono::milliseconds(env.random() % static_cast<std::uint64_t>(pause.count()));
  if (!was_ready) pause = std::min(pause * 2, longest_pause);
  for (auto* const each : {&opening, &socket}) {
    if (*each) (*each)->close();
    each->reset();
  }
  out.clear();
  writing.clear();
  unsent = 0;
  auto failing = std::exchange(in_flight, {});
  auto behind = std::exchange(waiting, {});
  auto refused_waiters = std::exchange(waiters, {});
  fail_calls(failing, why);
  fail_calls(behind, why);
  for (auto& waiter : refused_waiters) {
    waiter.done(as_pointer(failed(why.code(), Outcome::not_applied, waiter.operation, why.reason(),
                                  why.hint())),
                Reply());
  }
  if (was_ready && lost) lost();
}

/// Asks the server itself and the Sentinels. No majority is no reason to leave: they may be down
/// while the master is well.
void Connection::State::look_for_master() {
  if (std::exchange(looking, true)) return;
  Call role;
  role.operation = "look for the master";
  role.deadline = env.now() + look_every;
  role.bytes = command("ROLE");
  role.done = [this, attempt = attempts](std::exception_ptr error, Reply reply) {
    if (error || attempts != attempt || stage != Stage::ready || !reply->is_array()) return;
    if ((*reply)[0].text() == "master") return;
    // Not from within answer(), which is about to go on with this connection.
    asio::post(env.executor(), [self = shared_from_this(), attempt] {
      if (self->attempts != attempt || self->stage != Stage::ready) return;
      self->lose(failed(ErrorCode::service_unavailable, Outcome::unknown, "look for the master",
                        self->target.url() + " is a replica now"));
    });
  };
  watch(role.deadline);
  transmit(std::move(role));
  asio::co_spawn(env.executor(), ask_for_master(),
                 [self = shared_from_this()](std::exception_ptr) {});
}

asio::awaitable<void> Connection::State::ask_for_master() {
  auto const attempt = attempts;
  auto const asked = env.now();
  std::optional<Endpoint> named;
  try {
    named = co_await sentinels->master();
  } catch (EngineError const&) {
    named.reset();
  }
  looking = false;
  if (attempts != attempt || stage != Stage::ready) co_return;
  if (named && *named != Endpoint{target.host, target.port}) {
    lose(failed(ErrorCode::service_unavailable, Outcome::unknown, "look for the master",
                target.url() + " is the master no more: the Sentinels name " + to_string(*named)));
    co_return;
  }
  confirmed = asked;
  auto woken = std::exchange(waiters, {});
  for (auto& waiter : woken) waiter.done(nullptr, Reply());
}

void Connection::State::fail_calls(std::deque<Call>& failing, EngineError const& why) {
  for (auto& call : failing) {
    if (!call.done) continue;
    bool const may_have_happened = call.written && call.effect == Effect::writes;
    call.done(
        as_pointer(failed(why.code(), may_have_happened ? Outcome::unknown : Outcome::not_applied,
                          call.operation, why.reason(), why.hint())),
        Reply());
  }
}

// Calling.

void Connection::State::submit(Call call) {
  watch(call.deadline);
  if (confirmed_longer_ago_than(look_every)) look_for_master();
  if (in_flight.size() < max_in_flight) {
    transmit(std::move(call));
  } else if (waiting.size() < max_waiting) {
    waiting.push_back(std::move(call));
  } else {
    call.done(as_pointer(failed(ErrorCode::rate_limited, Outcome::not_applied, call.operation,
                                "too many calls wait for the server")),
              Reply());
  }
}

/// What is asked for in one turn of the loop goes out together.
void Connection::State::transmit(Call call) {
  out += call.bytes;
  call.bytes.clear();
  call.sent = env.now();
  in_flight.push_back(std::move(call));
  ++unsent;
  if (std::exchange(flushing, true)) return;
  asio::post(env.executor(), [self = shared_from_this()] {
    self->flushing = false;
    self->flush();
  });
}

void Connection::State::flush() {
  if (!writing.empty() || out.empty() || !socket) return;
  writing.swap(out);
  for (; unsent > 0; --unsent) in_flight[in_flight.size() - unsent].written = true;
  socket->write(writing, [self = shared_from_this(), on = socket](boost::system::error_code error) {
    if (self->socket != on) return;
    self->writing.clear();
    if (error) {
      self->lose(broken(error, "write"));
      return;
    }
    self->flush();
  });
}

void Connection::State::read() {
  socket->read_some(asio::buffer(received), [self = shared_from_this(), on = socket](
                                                boost::system::error_code error, std::size_t size) {
    if (self->socket != on) return;
    if (error) {
      self->lose(broken(error, "read"));
      return;
    }
    self->take({self->received.data(), size});
    if (self->socket == on) self->read();
  });
}

void Connection::State::take(std::string_view bytes) {
  last_received = env.now();
  auto const on = socket;
  try {
    reader.feed(bytes);
    while (socket == on) {
      auto reply = reader.next();
      if (!reply) return;
      answer(std::move(*reply));
    }
  } catch (std::exception const& error) {
    if (socket == on) {
      lose(failed(ErrorCode::internal, Outcome::unknown, "read", error.what()));
    }
  }
}

void Connection::State::answer(Reply reply) {
  bool const pushed =
      push && reply->size() == 3 && (*reply)[0].is_text() && (*reply)[0].text() == "message";
  if (pushed) {
    push(*reply);
    return;
  }
  if (in_flight.empty()) throw std::runtime_error("the server answered what nobody asked");
  auto call = std::move(in_flight.front());
  in_flight.pop_front();
  if (!waiting.empty()) {
    transmit(std::move(waiting.front()));
    waiting.pop_front();
  }
  bool const leave = reply->is_error() && stage == Stage::ready && refusal_of(reply->text()).leave;
  std::optional<EngineError> const why =
      leave ? std::optional(refused(call.operation, reply->text())) : std::nullopt;
  if (call.done) call.done(nullptr, std::move(reply));
  if (why) lose(*why);
}

// Time.

/// One timer, for the earliest deadline that was asked for; deadlines mostly come in order.
void Connection::State::watch(Instant deadline) {
  if (deadline >= alarm) return;
  alarm = deadline;
  env.call_at(deadline, [weak = weak_from_this(), deadline] {
    auto const self = weak.lock();
    if (!self || self->alarm != deadline) return;
    self->alarm = Instant::max();
    self->look_at_clock();
  });
}

void Connection::State::look_at_clock() {
  auto const now = env.now();
  std::vector<Done> late;
  std::vector<std::exception_ptr> errors;
  auto next = Instant::max();
  bool silent = false;
  auto const look = [&](auto& entry, Outcome outcome) {
    if (!entry.done) return;
    if (entry.deadline > now) {
      next = std::min(next, entry.deadline);
      return;
    }
    late.push_back(std::exchange(entry.done, nullptr));
    errors.push_back(as_pointer(failed(ErrorCode::network_timeout, outcome, entry.operation,
                                       "no answer from " + target.url() + " in time",
                                       "is the server overloaded, or the network down?")));
  };
  for (auto& call : in_flight) {
    bool const may_have_happened = call.written && call.effect == Effect::writes;
    bool const waited = static_cast<bool>(call.done);
    look(call, may_have_happened ? Outcome::unknown : Outcome::not_applied);
    if (waited && !call.done && last_received < call.sent) silent = true;
  }
  for (auto& call : waiting) look(call, Outcome::not_applied);
  std::erase_if(waiting, [](Call const& call) { return !call.done; });
  for (auto& waiter : waiters) look(waiter, Outcome::not_applied);
  std::erase_if(waiters, [](Waiter const& waiter) { return !waiter.done; });
  if (next != Instant::max()) watch(next);
  // Not a word since a call was sent whose time is over: this connection is not worth waiting for.
  if (silent && stage == Stage::ready) {
    lose(failed(ErrorCode::network_timeout, Outcome::unknown, "wait",
                "no answer from " + target.url() + " in time"));
  }
  for (std::size_t i = 0; i < late.size(); ++i) late[i](errors[i], Reply());
}

// The handle.

Connection::Connection(Env& env, Place place)
    : state_(std::make_shared<State>(env, std::move(place))) {}

Connection::~Connection() { close(); }

void Connection::close() {
  if (state_->closed) return;
  std::promise<void> closed;
  asio::post(state_->env.executor(), [this, &closed] {
    state_->lost = nullptr;
    state_->push = nullptr;
    state_->lose(failed(ErrorCode::aborted, Outcome::unknown, "close", "the client was closed"));
    state_->stage = State::Stage::closed;
    closed.set_value();
  });
  closed.get_future().wait();
  state_->closed = true;
}

void Connection::listen(Push push, std::function<void()> lost) {
  state_->push = std::move(push);
  state_->lost = std::move(lost);
}

void Connection::on_connected(std::function<void()> connected) {
  state_->on_connected = std::move(connected);
}

void Connection::leave() {
  if (state_->stage != State::Stage::ready) return;
  state_->lose(failed(ErrorCode::service_unavailable, Outcome::unknown, "leave",
                      "another server is in use now"));
}

bool Connection::is_ready() const {
  return state_->stage == State::Stage::ready && !state_->confirmed_longer_ago_than(trust_for);
}

Server const& Connection::server() const { return state_->server; }

asio::awaitable<void> Connection::ready(std::string_view operation, Instant deadline) {
  auto& state = *state_;
  if (is_ready()) co_return;
  if (state.stage == State::Stage::ready) state.look_for_master();
  if (state.stage == State::Stage::closed) {
    throw failed(ErrorCode::aborted, Outcome::not_applied, operation, "the client was closed");
  }
  bool const pausing =
      state.stage == State::Stage::idle && state.trouble && state.env.now() < state.next_attempt;
  if (pausing) {
    throw failed(state.trouble->code(), Outcome::not_applied, operation, state.trouble->reason(),
                 state.trouble->hint());
  }
  auto initiate = [](auto handler, State* self, std::string what, Instant until) {
    State::Waiter waiter;
    waiter.done = [handler = std::move(handler)](std::exception_ptr error, Reply reply) mutable {
      std::move(handler)(std::move(error), std::move(reply));
    };
    waiter.operation = std::move(what);
    waiter.deadline = until;
    self->watch(until);
    self->waiters.push_back(std::move(waiter));
    // Only now: it may fail at once.
    if (self->stage == State::Stage::idle) self->connect();
  };
  std::string what(operation);
  [[maybe_unused]] Reply const none =
      co_await asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr, Reply)>(
          initiate, asio::use_awaitable, state_.get(), std::move(what), deadline);
}

asio::awaitable<Reply> Connection::call(std::string command, Effect effect,
                                        std::string_view operation, Instant deadline) {
  auto initiate = [](auto handler, State* self, std::string bytes, Effect does, std::string what,
                     Instant until) {
    State::Call call;
    call.done = [handler = std::move(handler)](std::exception_ptr error, Reply reply) mutable {
      std::move(handler)(std::move(error), std::move(reply));
    };
    call.operation = std::move(what);
    call.effect = does;
    call.deadline = until;
    call.bytes = std::move(bytes);
    if (self->stage == State::Stage::ready) {
      self->submit(std::move(call));
    } else {
      call.done(as_pointer(failed(ErrorCode::service_unavailable, Outcome::not_applied,
                                  call.operation, "the connection broke")),
                Reply());
    }
  };
  return asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr, Reply)>(
      initiate, asio::use_awaitable, state_.get(), std::move(command), effect,
      std::string(operation), deadline);
}

void Connection::tell(std::string command) {
  if (!is_ready()) return;
  State::Call call;
  call.deadline = Instant::max();
  call.bytes = std::move(command);
  call.effect = Effect::writes;
  state_->submit(std::move(call));
}

}  // namespace holt::redis
