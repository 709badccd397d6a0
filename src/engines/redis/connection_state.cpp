// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/connection_state.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

namespace holt::redis {
namespace {

constexpr std::size_t max_in_flight = 10'000;  // calls; the next ones wait here
constexpr std::size_t max_waiting = 100'000;
constexpr std::chrono::milliseconds longest_pause{1000};
constexpr std::chrono::seconds look_every{2};  // whether this is still the master

std::exception_ptr as_pointer(EngineError const& error) { return std::make_exception_ptr(error); }

}  // namespace

// Connecting.

void Connection::State::connect() {
  stage = Stage::connecting;
  auto const attempt = ++attempts;
  env.call_at(env.now() + place.connect_timeout, [weak = weak_from_this(), attempt] {
    auto const self = weak.lock();
    if (!self || self->attempts != attempt || self->stage != Stage::connecting) return;
    self->lose(self->no_connection("connect"));
  });
  auto const executor = env.executor();
  asio::co_spawn(executor, connect_now(), [self = shared_from_this()](std::exception_ptr) {});
}

void Connection::State::connect_when_allowed() {
  if (!pausing()) {
    connect();
    return;
  }
  if (std::exchange(alarm_set, true)) return;
  env.call_at(next_attempt, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->alarm_set = false;
    if (self->stage == Stage::idle && !self->waiters.empty()) self->connect_when_allowed();
  });
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
  for (auto const& tell : on_connected) tell();
  auto woken = std::exchange(waiters, {});
  for (auto& waiter : woken) waiter.done(nullptr, Reply());
}

/// Ended before it had begun, and nobody says why: it may be the wrong kind of port.
EngineError Connection::State::with_hint(EngineError const& why) const {
  if (stage != Stage::connecting || !why.hint().empty()) return why;
  return failed(why.code(), why.outcome(), why.operation(), why.reason(),
                target.tls ? "does the server speak TLS on this port? If not, write redis://"
                           : "does this port speak TLS? Then write rediss://");
}

/// The connection is gone, or was never made. Everything on it fails, truthfully.
void Connection::State::lose(EngineError const& because) {
  if (stage == Stage::closed) return;
  auto const why = with_hint(because);
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
  fail_waiters(why);
  fail_calls(failing, why);
  fail_calls(behind, why);
  if (was_ready && lost) lost();
  if (stage == Stage::idle && !waiters.empty()) connect_when_allowed();
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
    // Who waits for this goes to the new one.
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

/// But for those that the next attempt may help.
void Connection::State::fail_waiters(EngineError const& why) {
  std::vector<Waiter> failing;
  for (auto& waiter : std::exchange(waiters, {})) {
    bool const waits = why.retryable() && waiter.retry == Retry::while_there_is_time;
    (waits ? waiters : failing).push_back(std::move(waiter));
  }
  for (auto& waiter : failing) {
    waiter.done(as_pointer(failed(why.code(), Outcome::not_applied, waiter.operation, why.reason(),
                                  why.hint())),
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

EngineError Connection::State::no_answer(std::string const& operation, Outcome outcome) const {
  return failed(ErrorCode::network_timeout, outcome, operation,
                "no answer from " + target.url() + " in time",
                "is the server overloaded, or the network down?");
}

EngineError Connection::State::no_connection(std::string const& operation) const {
  return failed(ErrorCode::network_timeout, Outcome::not_applied, operation,
                "no connection to " + place.url() + " in time",
                place.tls
                    ? "is the server up, does it speak TLS on this port, and is a firewall in "
                      "the way?"
                    : "is the server up, and is a firewall in the way?");
}

/// For who waited for a connection, or for the Sentinels to confirm one.
EngineError Connection::State::too_late(std::string const& operation) const {
  if (!trouble && stage == Stage::ready) return no_answer(operation, Outcome::not_applied);
  if (!trouble) return no_connection(operation);
  return failed(trouble->code(), Outcome::not_applied, operation,
                std::string(trouble->reason()) + ", until the time of this call was over",
                trouble->hint());
}

void Connection::State::look_at_clock() {
  auto const now = env.now();
  std::vector<Done> late;
  std::vector<std::exception_ptr> errors;
  auto next = Instant::max();
  bool silent = false;
  auto const is_late = [&](auto& entry) {
    if (!entry.done) return false;
    if (entry.deadline > now) next = std::min(next, entry.deadline);
    return entry.deadline <= now;
  };
  auto const give_up = [&](auto& entry, EngineError const& error) {
    late.push_back(std::exchange(entry.done, nullptr));
    errors.push_back(as_pointer(error));
  };
  for (auto& call : in_flight) {
    if (!is_late(call)) continue;
    bool const may_have_happened = call.written && call.effect == Effect::writes;
    give_up(call,
            no_answer(call.operation, may_have_happened ? Outcome::unknown : Outcome::not_applied));
    if (last_received < call.sent) silent = true;
  }
  for (auto& call : waiting) {
    if (is_late(call)) give_up(call, no_answer(call.operation, Outcome::not_applied));
  }
  std::erase_if(waiting, [](Call const& call) { return !call.done; });
  for (auto& waiter : waiters) {
    if (is_late(waiter)) give_up(waiter, too_late(waiter.operation));
  }
  std::erase_if(waiters, [](Waiter const& waiter) { return !waiter.done; });
  if (next != Instant::max()) watch(next);
  // Not a word since a call was sent whose time is over: this connection is not worth waiting for.
  if (silent && stage == Stage::ready) {
    lose(failed(ErrorCode::network_timeout, Outcome::unknown, "wait",
                "no answer from " + target.url() + " in time"));
  }
  for (std::size_t i = 0; i < late.size(); ++i) late[i](errors[i], Reply());
}

}  // namespace holt::redis
