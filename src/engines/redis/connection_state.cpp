// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/connection_state.hpp"

#include "engines/redis/info.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <iterator>

namespace holt::redis {
namespace {

constexpr std::chrono::milliseconds longest_pause{1000};

/// Whether this server is the wrong one now. In a cluster other nodes have the rest of the keys,
/// and what is under way here goes on.
bool leaves(std::string_view error, Place const& place) {
  if (!place.cluster.empty() && error.starts_with("CLUSTERDOWN")) return false;
  return refusal_of(error).leave;
}

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
    if (find) {
      auto found = find();
      target.host = std::move(found.host);
      target.port = found.port;
    }
    auto const made = std::make_shared<Socket>(env.executor());
    opening = made;
    co_await made->connect(target);
    if (attempts != attempt || stage != Stage::connecting) co_return;
    socket = std::exchange(opening, nullptr);
    reader = ReplyReader();
    read();
    Greeting greeting;
    auto const ask = [](auto done, State* self, std::string_view command) {
      self->transmit({std::move(done), "connect", Effect::reads, Instant::max()}, command);
    };
    for (auto const& step : greeting_steps(target)) {
      Answer answer = co_await asio::async_initiate<asio::deferred_t const, void(Answer)>(
          ask, asio::deferred, this, std::string_view(step.command));
      Reply const reply = reply_of(std::move(answer));
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
  for (auto& waiter : woken) waiter.done(Reply());
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
  in_flight_bytes = 0;
  waiting_bytes = 0;
  auto failing = std::exchange(in_flight, {});
  for (auto& gathered : std::exchange(gathering, {})) {
    std::ranges::move(gathered.calls, std::back_inserter(failing));
  }
  auto behind = std::exchange(waiting, {});
  fail_waiters(why);
  for (auto& call : failing) fail(call, why);
  for (auto& [call, bytes] : behind) fail(call, why);
  if (was_ready && lost) lost();
  if (stage == Stage::idle && !waiters.empty()) connect_when_allowed();
}

/// Asks the server itself and the Sentinels. No majority is no reason to leave: they may be down
/// while the master is well.
void Connection::State::look_for_master() {
  if (std::exchange(looking, true)) return;
  auto const look = [this, attempt = attempts](Answer answer) {
    if (!answer || attempts != attempt || stage != Stage::ready || !(*answer)->is_array()) return;
    if ((**answer)[0].text() == "master") return;
    // Not from within answer(), which is about to go on with this connection.
    asio::post(env.executor(), [self = shared_from_this(), attempt] {
      if (self->attempts != attempt || self->stage != Stage::ready) return;
      self->lose(failed(ErrorCode::service_unavailable, Outcome::unknown, "look for the master",
                        self->target.url() + " is a replica now"));
    });
  };
  auto const deadline = env.now() + look_every;
  watch(deadline);
  transmit({look, "look for the master", Effect::reads, deadline}, command("ROLE"));
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
  for (auto& waiter : woken) waiter.done(Reply());
}

void Connection::State::check_again() {
  if (std::exchange(checking, true)) return;
  auto done = [this, attempt = attempts](Answer answer) {
    checking = false;
    if (!answer || attempts != attempt || !(*answer)->is_text()) return;
    auto const text = (*answer)->text();
    if (info_field(text, "role") != "master") {
      lose(failed(ErrorCode::service_unavailable, Outcome::unknown, "check the server again",
                  target.url() + " is a replica now"));
    } else if (info_field(text, "master_replid") != server.identity) {
      lose(failed(ErrorCode::service_unavailable, Outcome::unknown, "check the server again",
                  target.url() + " was another one's replica meanwhile"));
    }
  };
  transmit({std::move(done), "check the server again", Effect::reads, Instant::max()},
           command("INFO", "replication"));
}

void Connection::State::fail(Call& call, EngineError const& why) {
  if (!call.done) return;
  call.done(no_reply(failed(why.code(),
                            call.may_have_happened() ? Outcome::unknown : Outcome::not_applied,
                            call.operation, why.reason(), why.hint())));
}

/// But for those that the next attempt may help.
void Connection::State::fail_waiters(EngineError const& why) {
  std::vector<Waiter> failing;
  for (auto& waiter : std::exchange(waiters, {})) {
    bool const waits = why.retryable() && waiter.retry == Retry::while_there_is_time;
    (waits ? waiters : failing).push_back(std::move(waiter));
  }
  for (auto& waiter : failing) {
    waiter.done(no_reply(
        failed(why.code(), Outcome::not_applied, waiter.operation, why.reason(), why.hint())));
  }
}

// Calling.

void Connection::State::submit(Call call, std::string_view bytes) {
  watch(call.deadline);
  if (confirmed_longer_ago_than(look_every)) look_for_master();
  if (waiting.empty() && room_for(bytes.size())) {
    transmit(std::move(call), bytes);
  } else if (waiting.size() < limits.waiting &&
             waiting_bytes + bytes.size() <= limits.waiting_bytes) {
    waiting_bytes += bytes.size();
    waiting.push_back({std::move(call), std::string(bytes)});
  } else {
    call.done(no_reply(failed(ErrorCode::rate_limited, Outcome::not_applied, call.operation,
                              "too many calls wait for the server")));
  }
}

bool Connection::State::room_for(std::size_t bytes) const {
  return in_flight.empty() ||
         (in_flight.size() < limits.in_flight && in_flight_bytes + bytes <= limits.in_flight_bytes);
}

void Connection::State::transmit_waiting() {
  while (!waiting.empty() && room_for(waiting.front().bytes.size())) {
    auto next = std::move(waiting.front());
    waiting.pop_front();
    waiting_bytes -= next.bytes.size();
    transmit(std::move(next.call), next.bytes);
  }
}

/// What is asked for in one turn of the loop goes out together.
void Connection::State::transmit(Call call, std::string_view bytes) {
  end_gathering();
  out += bytes;
  call.size = bytes.size();
  in_flight_bytes += bytes.size();
  in_flight.push_back(std::move(call));
  ++unsent;
  flush_soon();
}

void Connection::State::flush_soon() {
  if (std::exchange(flushing, true)) return;
  asio::post(env.executor(), [self = shared_from_this()] {
    self->flushing = false;
    self->flush();
  });
}

void Connection::State::flush() {
  end_gathering();
  if (!writing.empty() || out.empty() || !socket) return;
  auto const now = env.now();
  for (; unsent > 0; --unsent) in_flight[in_flight.size() - unsent].sent = now;
  auto const written = socket->write_now(out);
  if (written == out.size()) {
    out.clear();
    return;
  }
  writing.swap(out);
  writing.erase(0, written);
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
  // What the answers lead to goes out in one write, when all are read.
  bool const posted = std::exchange(flushing, true);
  try {
    reader.feed(bytes);
    while (socket == on) {
      auto reply = reader.next();
      if (!reply) break;
      answer(std::move(*reply));
    }
  } catch (std::exception const& error) {
    if (socket == on) {
      lose(failed(ErrorCode::internal, Outcome::unknown, "read", error.what()));
    }
  }
  flushing = posted;
  flush();
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
  in_flight_bytes -= call.size;
  bool const leave = reply->is_error() && stage == Stage::ready && leaves(reply->text(), place);
  std::optional<EngineError> const why =
      leave ? std::optional(refused(call.operation, reply->text())) : std::nullopt;
  if (call.sharers > 1) {
    answer_all(std::move(call), std::move(reply));
  } else {
    transmit_waiting();
    if (call.done) call.done(std::move(reply));
  }
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

EngineError Connection::State::no_answer(std::string_view operation, Outcome outcome) const {
  return failed(ErrorCode::network_timeout, outcome, operation,
                "no answer from " + target.url() + " in time",
                "is the server overloaded, or the network down?");
}

EngineError Connection::State::no_connection(std::string_view operation) const {
  return failed(ErrorCode::network_timeout, Outcome::not_applied, operation,
                "no connection to " + place.url() + " in time",
                place.tls
                    ? "is the server up, does it speak TLS on this port, and is a firewall in "
                      "the way?"
                    : "is the server up, and is a firewall in the way?");
}

/// For who waited for a connection, or for the Sentinels to confirm one.
EngineError Connection::State::too_late(std::string_view operation) const {
  if (!trouble && stage == Stage::ready) return no_answer(operation, Outcome::not_applied);
  if (!trouble) return no_connection(operation);
  return failed(trouble->code(), Outcome::not_applied, operation,
                std::string(trouble->reason()) + ", until the time of this call was over",
                trouble->hint());
}

void Connection::State::look_at_clock() {
  auto const now = env.now();
  std::vector<std::pair<Done, Answer>> late;
  auto next = Instant::max();
  bool silent = false;
  auto const is_late = [&](auto& entry) {
    if (!entry.done) return false;
    if (entry.deadline > now) next = std::min(next, entry.deadline);
    return entry.deadline <= now;
  };
  auto const give_up = [&](auto& entry, EngineError const& error) {
    late.emplace_back(std::exchange(entry.done, nullptr), no_reply(error));
  };
  for (auto& call : in_flight) {
    if (!is_late(call)) continue;
    // Also where it was not sent yet: it will be.
    give_up(call, no_answer(call.operation, call.effect == Effect::writes ? Outcome::unknown
                                                                          : Outcome::not_applied));
    if (last_received < call.sent) silent = true;
  }
  for (auto& [call, bytes] : waiting) {
    if (is_late(call)) give_up(call, no_answer(call.operation, Outcome::not_applied));
  }
  std::erase_if(waiting, [this](WaitingCall const& entry) {
    if (entry.call.done) return false;
    waiting_bytes -= entry.bytes.size();
    return true;
  });
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
  for (auto& [done, answer] : late) done(std::move(answer));
}

}  // namespace holt::redis
