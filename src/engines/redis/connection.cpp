// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/connection.hpp"

#include "engines/redis/connection_state.hpp"

#include <boost/asio/post.hpp>

#include <future>
#include <memory>
#include <optional>
#include <utility>

namespace holt::redis {

Connection::Connection(Env& env, Place place, Limits const& limits)
    : state_(std::make_shared<State>(env, std::move(place), limits)) {}

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

void Connection::end(std::string_view why) {
  if (state_->closed) return;
  state_->lost = nullptr;
  state_->push = nullptr;
  auto const error = failed(ErrorCode::service_unavailable, Outcome::unknown, "leave", why);
  auto waiters = std::exchange(state_->waiters, {});
  state_->lose(error);
  state_->stage = State::Stage::closed;
  state_->closed = true;
  // There is no next attempt that they could wait for.
  for (auto& waiter : waiters) {
    waiter.done(no_reply(failed(error.code(), Outcome::not_applied, waiter.operation, why)));
  }
}

void Connection::find_by(std::function<Endpoint()> find) { state_->find = std::move(find); }

void Connection::listen(Push push, std::function<void()> lost) {
  state_->push = std::move(push);
  state_->lost = std::move(lost);
}

void Connection::on_connected(std::function<void()> connected) {
  state_->on_connected.push_back(std::move(connected));
}

void Connection::leave() {
  if (state_->stage != State::Stage::ready) return;
  state_->lose(failed(ErrorCode::service_unavailable, Outcome::unknown, "leave",
                      "another server is in use now"));
}

void Connection::check_again() {
  if (state_->stage == State::Stage::ready) state_->check_again();
}

bool Connection::is_ready() const {
  return state_->stage == State::Stage::ready &&
         !state_->confirmed_longer_ago_than(State::trust_for);
}

Server const& Connection::server() const { return state_->server; }

std::string Connection::trouble() const {
  return state_->trouble ? std::string(state_->trouble->reason()) : std::string();
}

Endpoint Connection::where() const { return {state_->target.host, state_->target.port}; }

asio::awaitable<void> Connection::ready(std::string_view operation, Instant deadline, Retry retry) {
  auto& state = *state_;
  if (is_ready()) co_return;
  if (state.stage == State::Stage::closed) {
    throw failed(ErrorCode::aborted, Outcome::not_applied, operation, "the client was closed");
  }
  if (state.pausing() && (retry == Retry::never || !state.trouble->retryable())) {
    throw failed(state.trouble->code(), Outcome::not_applied, operation, state.trouble->reason(),
                 state.trouble->hint());
  }
  auto const initiate = [](auto done, State* self, std::string_view what, Instant until,
                           Retry again) {
    self->watch(until);
    self->waiters.push_back({std::move(done), what, until, again});
    // Only now: it may fail at once.
    if (self->stage == State::Stage::idle) self->connect_when_allowed();
    if (self->stage == State::Stage::ready) self->look_for_master();
  };
  Answer connected = co_await asio::async_initiate<asio::deferred_t const, void(Answer)>(
      initiate, asio::deferred, state_.get(), operation, deadline, retry);
  if (!connected) std::rethrow_exception(connected.error());
}

void Connection::start(Done done, std::string_view command, Effect effect,
                       std::string_view operation, Instant deadline) {
  if (state_->stage == State::Stage::ready) {
    state_->submit({std::move(done), operation, effect, deadline}, command);
  } else {
    done(no_reply(failed(ErrorCode::service_unavailable, Outcome::not_applied, operation,
                         "the connection broke")));
  }
}

void Connection::start_with_others(Done done, Step const& step, Effect effect,
                                   std::string_view operation, Instant deadline) {
  if (state_->stage == State::Stage::ready && state_->may_gather()) {
    state_->gather({std::move(done), operation, effect, deadline}, step);
  } else {
    start(std::move(done), step.alone().by_sha(), effect, operation, deadline);
  }
}

asio::awaitable<TwoReplies> Connection::call_both(std::string command, std::string then,
                                                  std::string_view operation, Instant deadline) {
  auto const first = std::make_shared<std::optional<Answer>>();
  auto const keep = [first](Answer answer) { *first = std::move(answer); };
  start(keep, command, Effect::writes, operation, deadline);
  Answer second = co_await call(then, Effect::writes, operation, deadline);
  if (!*first) {
    throw failed(ErrorCode::rate_limited, Outcome::unknown, operation,
                 "too many calls wait for the server");
  }
  TwoReplies both;
  both.first = reply_of(std::move(**first));
  // A refusal may have ended the connection; it is the better answer.
  if (!both.first->is_error()) both.second = reply_of(std::move(second));
  co_return both;
}

void Connection::tell(std::string_view command) {
  start([](Answer const&) {}, command, Effect::writes, "tell", Instant::max());
}

}  // namespace holt::redis
