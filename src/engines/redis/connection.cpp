// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/connection.hpp"

#include "engines/redis/connection_state.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <future>
#include <memory>
#include <optional>
#include <utility>

namespace holt::redis {

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
  state_->on_connected.push_back(std::move(connected));
}

void Connection::leave() {
  if (state_->stage != State::Stage::ready) return;
  state_->lose(failed(ErrorCode::service_unavailable, Outcome::unknown, "leave",
                      "another server is in use now"));
}

bool Connection::is_ready() const {
  return state_->stage == State::Stage::ready &&
         !state_->confirmed_longer_ago_than(State::trust_for);
}

Server const& Connection::server() const { return state_->server; }

std::string Connection::trouble() const {
  return state_->trouble ? std::string(state_->trouble->reason()) : std::string();
}

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
  auto initiate = [](auto handler, State* self, std::string what, Instant until, Retry again) {
    State::Waiter waiter;
    waiter.done = [handler = std::move(handler)](std::exception_ptr error, Reply reply) mutable {
      std::move(handler)(std::move(error), std::move(reply));
    };
    waiter.operation = std::move(what);
    waiter.deadline = until;
    waiter.retry = again;
    self->watch(until);
    self->waiters.push_back(std::move(waiter));
    // Only now: it may fail at once.
    if (self->stage == State::Stage::idle) self->connect_when_allowed();
    if (self->stage == State::Stage::ready) self->look_for_master();
  };
  std::string what(operation);
  [[maybe_unused]] Reply const none =
      co_await asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr, Reply)>(
          initiate, asio::use_awaitable, state_.get(), std::move(what), deadline, retry);
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
      call.done(std::make_exception_ptr(failed(ErrorCode::service_unavailable, Outcome::not_applied,
                                               call.operation, "the connection broke")),
                Reply());
    }
  };
  return asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr, Reply)>(
      initiate, asio::use_awaitable, state_.get(), std::move(command), effect,
      std::string(operation), deadline);
}

asio::awaitable<TwoReplies> Connection::call(std::string command, std::string then,
                                             std::string_view operation, Instant deadline) {
  auto initiate = [](auto handler, State* self, std::string bytes, std::string more,
                     std::string what, Instant until) {
    auto const first = std::make_shared<std::optional<Reply>>();
    State::Call call;
    // If it has no reply, the next one has none for the same reason.
    call.done = [first](std::exception_ptr error, Reply reply) {
      if (!error) *first = std::move(reply);
    };
    call.operation = what;
    call.effect = Effect::writes;
    call.deadline = until;
    call.bytes = std::move(bytes);
    State::Call next;
    next.done = [first, handler = std::move(handler)](std::exception_ptr error,
                                                      Reply reply) mutable {
      TwoReplies both;
      // A refusal may have ended the connection; it is the better answer.
      if (*first && (**first)->is_error()) error = nullptr;
      if (*first) both.first = std::move(**first);
      both.second = std::move(reply);
      std::move(handler)(std::move(error), std::move(both));
    };
    next.operation = std::move(what);
    next.effect = Effect::writes;
    next.deadline = until;
    next.bytes = std::move(more);
    if (self->stage == State::Stage::ready) {
      self->submit(std::move(call));
      self->submit(std::move(next));
    } else {
      next.done(std::make_exception_ptr(failed(ErrorCode::service_unavailable, Outcome::not_applied,
                                               next.operation, "the connection broke")),
                Reply());
    }
  };
  return asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr, TwoReplies)>(
      initiate, asio::use_awaitable, state_.get(), std::move(command), std::move(then),
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
