// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/pool.hpp"

#include "engines/postgres/errors.hpp"
#include "postgres_sql.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <utility>
#include <vector>

namespace holt::postgres {
namespace {

constexpr std::size_t max_load = 64;  // calls on one connection; the next ones wait here
constexpr std::size_t max_waiting = 100'000;
/// Mostly it takes a hundredth of that.
constexpr std::chrono::milliseconds usual_connect{250};
constexpr std::chrono::milliseconds first_pause{10};
constexpr std::chrono::milliseconds longest_pause{1000};
constexpr std::chrono::seconds check_patience{5};
constexpr int max_attempts = 8;

}  // namespace

struct Pool::State : std::enable_shared_from_this<State> {
  State(Env& of, Settings with, PoolOptions how, Greeting first)
      : env(of), settings(std::move(with)), options(how), greeting(std::move(first)) {}

  void submit(Call call);
  void dispatch();
  std::shared_ptr<Session> least_busy() const;
  [[nodiscard]] bool may_grow() const;
  void connect();
  void connected(Link link);
  void greet(Session& session);
  void could_not_connect(EngineError const& why);
  void lost(Session const* which, EngineError const& why);
  void fail_waiting(EngineError const& why);
  void watch(Instant deadline);
  void look_at_clock();
  void maintain();
  void plan_maintenance();
  [[nodiscard]] bool outlived(Session const& session) const;
  asio::awaitable<void> pause_for(std::chrono::milliseconds span);

  Env& env;
  Settings const settings;
  PoolOptions const options;
  Greeting const greeting;
  bool closing = false;
  Server server;
  std::vector<std::shared_ptr<Session>> sessions;
  std::deque<Call> waiting;
  int connecting = 0;
  Instant connected_by;                ///< so long calls wait for a connection that is being made
  std::optional<EngineError> trouble;  ///< why the last attempt failed
  Instant next_attempt;
  std::chrono::milliseconds pause = first_pause;
  Instant alarm = Instant::max();
  std::uint64_t next_sleeper = 1;
  std::map<std::uint64_t, std::move_only_function<void()>> sleepers;
};

// Calling.

void Pool::State::submit(Call call) {
  if (closing) {
    call.fail(failed(ErrorCode::aborted, Outcome::not_applied, "call", "the client was closed"),
              Outcome::not_applied);
    return;
  }
  bool const pausing = sessions.empty() && connecting == 0 && trouble && env.now() < next_attempt;
  if (pausing) {
    call.fail(*trouble, Outcome::not_applied);
    return;
  }
  if (waiting.size() >= max_waiting) {
    call.fail(failed(ErrorCode::rate_limited, Outcome::not_applied, "call",
                     "too many calls wait for the server"),
              Outcome::not_applied);
    return;
  }
  watch(call.deadline);
  waiting.push_back(std::move(call));
  dispatch();
}

void Pool::State::dispatch() {
  while (!waiting.empty()) {
    auto const session = least_busy();
    bool const busy = !session || session->load() > 0;
    if (busy && may_grow()) connect();
    if (!session || session->load() >= max_load) return;
    // The call before may be kept waiting: who can soon have a connection does not stand behind it.
    if (busy && connecting > 0 && env.now() < connected_by) return;
    auto call = std::move(waiting.front());
    waiting.pop_front();
    if (call.done) session->submit(std::move(call));
  }
}

std::shared_ptr<Session> Pool::State::least_busy() const {
  auto const found = std::ranges::min_element(
      sessions, {}, [](std::shared_ptr<Session> const& session) { return session->load(); });
  return found == sessions.end() ? nullptr : *found;
}

// Connecting.

bool Pool::State::may_grow() const {
  auto const there = static_cast<int>(sessions.size()) + connecting;
  // One at a time: the next when this one was not enough.
  return !closing && connecting == 0 && there < options.max &&
         (!trouble || env.now() >= next_attempt);
}

void Pool::State::connect() {
  ++connecting;
  connected_by = env.now() + usual_connect;
  env.call_at(connected_by, [weak = weak_from_this()] {
    if (auto const self = weak.lock()) self->dispatch();
  });
  asio::post(env.blocking(), [self = shared_from_this()] {
    auto const loop = self->env.executor();
    try {
      auto link = std::make_shared<Link>(self->env, self->settings);
      asio::post(loop, [self, link] { self->connected(std::move(*link)); });
    } catch (EngineError const& error) {
      asio::post(loop, [self, error] { self->could_not_connect(error); });
    }
  });
}

void Pool::State::connected(Link link) {
  connecting = std::max(connecting - 1, 0);
  if (closing) return;
  pause = first_pause;
  trouble.reset();
  server = link.server();
  auto const session = std::make_shared<Session>(env, std::move(link), Session::Mode::pipeline);
  sessions.push_back(session);
  session->start({.free =
                      [weak = weak_from_this()] {
                        if (auto const self = weak.lock()) self->dispatch();
                      },
                  .lost =
                      [weak = weak_from_this(), which = session.get()](EngineError const& why) {
                        if (auto const self = weak.lock()) self->lost(which, why);
                      },
                  .heard = {}});
  greet(*session);
  if (sessions.size() == 1) plan_maintenance();
  dispatch();
}

/// What comes behind it on this connection runs after it. If it fails, nothing else is granted
/// here.
void Pool::State::greet(Session& session) {
  if (!greeting.statement) return;
  Call call;
  call.statement = greeting.statement;
  call.parameters = greeting.parameters;
  call.operation = "greet";
  call.deadline = env.now() + check_patience;
  call.done = [weak = session.weak_from_this()](std::exception_ptr error, Answer) {
    auto const greeted = weak.lock();
    if (!error || !greeted) return;
    try {
      std::rethrow_exception(error);
    } catch (EngineError const& why) {
      greeted->leave(why);
    }
  };
  session.submit(std::move(call));
}

void Pool::State::could_not_connect(EngineError const& why) {
  connecting = std::max(connecting - 1, 0);
  if (closing) return;
  trouble = why;
  auto const spread = static_cast<std::uint64_t>(pause.count());
  next_attempt = env.now() + pause / 2 + std::chrono::milliseconds(env.random() % spread);
  pause = std::min(pause * 2, longest_pause);
  if (sessions.empty()) {
    fail_waiting(why);
  } else {
    dispatch();
  }
}

void Pool::State::lost(Session const* which, EngineError const& why) {
  std::erase_if(sessions, [&](auto const& session) { return session.get() == which; });
  trouble = why;
  next_attempt = env.now();
  if (!waiting.empty()) dispatch();
}

void Pool::State::fail_waiting(EngineError const& why) {
  auto failing = std::exchange(waiting, {});
  for (auto& call : failing) call.fail(why, Outcome::not_applied);
}

// Time.

void Pool::State::watch(Instant deadline) {
  if (deadline >= alarm) return;
  alarm = deadline;
  env.call_at(deadline, [weak = weak_from_this(), deadline] {
    auto const self = weak.lock();
    if (!self || self->alarm != deadline) return;
    self->alarm = Instant::max();
    self->look_at_clock();
  });
}

void Pool::State::look_at_clock() {
  auto const now = env.now();
  std::vector<Call> late;
  auto next = Instant::max();
  for (auto& call : waiting) {
    if (call.deadline > now) {
      next = std::min(next, call.deadline);
    } else {
      late.push_back(std::exchange(call, Call()));
    }
  }
  std::erase_if(waiting, [](Call const& call) { return !call.done; });
  if (next != Instant::max()) watch(next);
  auto const why = trouble ? *trouble
                           : failed(ErrorCode::network_timeout, Outcome::not_applied, "wait",
                                    "no connection to the server was free in time",
                                    "is the server up, and is pool_max large enough?");
  for (auto& call : late) call.fail(why, Outcome::not_applied);
}

void Pool::State::plan_maintenance() {
  auto const every = std::min({options.check, options.idle, options.lifetime});
  env.call_at(env.now() + every, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self || self->closing || self->sessions.empty()) return;
    self->maintain();
    if (!self->sessions.empty()) self->plan_maintenance();
  });
}

bool Pool::State::outlived(Session const& session) const {
  if (session.load() > 0) return false;
  if (env.now() >= session.born() + options.lifetime) return true;
  return env.now() >= session.last_used() + options.idle &&
         static_cast<int>(sessions.size()) > options.min;
}

void Pool::State::maintain() {
  static auto const question = statement(std::string(sql::check));
  for (std::size_t i = 0; i < sessions.size();) {
    auto const session = sessions[i];
    if (outlived(*session)) {
      sessions.erase(sessions.begin() + static_cast<std::ptrdiff_t>(i));
      session->close(failed(ErrorCode::aborted, Outcome::not_applied, "close", "not needed"));
      continue;
    }
    ++i;
    if (session->load() > 0 || env.now() < session->last_used() + options.check) continue;
    Call check;
    check.statement = question;
    check.operation = "check the connection";
    check.deadline = env.now() + check_patience;
    check.done = [](std::exception_ptr, Answer) {};
    session->submit(std::move(check));
  }
}

// The outside.

Pool::Pool(Env& env, Settings settings, PoolOptions options, Greeting greeting)
    : state_(std::make_shared<State>(env, std::move(settings), options, std::move(greeting))) {}

Pool::~Pool() { close(); }

void Pool::add(Link link) {
  state_->server = link.server();
  auto shared = std::make_shared<Link>(std::move(link));
  asio::post(state_->env.executor(),
             [state = state_, shared] { state->connected(std::move(*shared)); });
}

void Pool::close() {
  std::promise<void> closed;
  asio::post(state_->env.executor(), [this, &closed] {
    state_->closing = true;
    auto const why = failed(ErrorCode::aborted, Outcome::unknown, "close", "the client was closed");
    auto sessions = std::exchange(state_->sessions, {});
    for (auto const& session : sessions) session->close(why);
    state_->fail_waiting(why);
    auto sleepers = std::exchange(state_->sleepers, {});
    for (auto& [id, wake] : sleepers) wake();
    closed.set_value();
  });
  closed.get_future().wait();
}

Server const& Pool::server() const { return state_->server; }

asio::awaitable<Answer> Pool::call(Statement statement, Parameters parameters, Effect effect,
                                   std::string_view operation, Instant deadline) {
  auto initiate = [](auto handler, State* self, Call* call) {
    call->done = [handler = std::move(handler)](std::exception_ptr error, Answer answer) mutable {
      std::move(handler)(std::move(error), std::move(answer));
    };
    self->submit(std::move(*call));
  };
  auto const state = state_;  // it may be closed during a pause
  std::string const what(operation);
  for (int attempt = 1;; ++attempt) {
    Call call;
    call.statement = statement;
    call.parameters = parameters;
    call.operation = what;
    call.effect = effect;
    call.deadline = deadline;
    std::optional<EngineError> again;
    try {
      Answer answer = co_await asio::async_initiate<asio::use_awaitable_t<> const,
                                                    void(std::exception_ptr, Answer)>(
          initiate, asio::use_awaitable, state.get(), &call);
      co_return answer;
    } catch (EngineError const& error) {
      if (!refusal_of(state_of(error)).again || attempt == max_attempts) throw;
      again = error;
    }
    auto const pause = std::chrono::milliseconds(1 + state->env.random() % (5U << attempt));
    if (state->closing || state->env.now() + pause >= deadline) throw EngineError(*again);
    co_await state->pause_for(pause);
  }
}

/// A pause that ends early when the pool is closed: no coroutine may sleep longer than its loop.
asio::awaitable<void> Pool::State::pause_for(std::chrono::milliseconds span) {
  auto initiate = [](auto handler, State* self, Instant until) {
    auto const id = self->next_sleeper++;
    self->sleepers.emplace(id, [handler = std::move(handler)]() mutable { std::move(handler)(); });
    self->env.call_at(until, [weak = self->weak_from_this(), id] {
      auto const state = weak.lock();
      if (!state) return;
      if (auto node = state->sleepers.extract(id)) node.mapped()();
    });
  };
  auto const until = env.now() + span;
  co_await asio::async_initiate<asio::use_awaitable_t<> const, void()>(
      initiate, asio::use_awaitable, this, until);
}

}  // namespace holt::postgres
