// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/signal_bus.hpp"

#include "contracts/signal_handlers.hpp"
#include "engines/postgres/errors.hpp"
#include "engines/postgres/signal_text.hpp"
#include "postgres_sql.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace holt::postgres {
namespace {

constexpr std::chrono::seconds patience{5};        // for one statement
constexpr std::chrono::seconds probe_patience{2};  // for what we say to ourselves
constexpr std::chrono::milliseconds first_pause{100};
constexpr std::chrono::seconds longest_pause{2};
constexpr std::chrono::minutes deaf_pause{1};  // then it is tried again
constexpr std::size_t signals_per_statement = 500;
constexpr std::string_view probe_topic = "holt-probe";
constexpr std::string_view deaf_text =
    "notifications do not arrive: a connection pooler (PgBouncer) is in between";

bool is_inbox(std::string_view text) {
  constexpr std::size_t longest = 64;
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

}  // namespace

struct PostgresSignalBus::State : std::enable_shared_from_this<State> {
  struct Waiter {
    std::move_only_function<void(std::exception_ptr, bool)> done;
    Instant deadline;
  };
  struct Outgoing {
    std::vector<std::string> inboxes;
    std::vector<std::string> texts;
  };

  State(Env& of, Pool& by, Place const& where, std::string in)
      : env(of),
        pool(by),
        place(where),
        instance(std::move(in)),
        inbox(fmt::format("{}-{:016x}", ::getpid(), of.random())),
        notify(kept_statement(in_schema(sql::signal, where.schema))),
        listen_where(statement(in_schema(sql::listen_where, where.schema))) {}

  void start();
  void connected(Link link);
  asio::awaitable<Answer> ask(Statement statement, Parameters parameters);
  asio::awaitable<void> begin(std::shared_ptr<Session> on);
  void began(bool hears);
  void lost(EngineError const& why);
  void again_after(std::chrono::nanoseconds pause);
  void wake_waiters(std::exception_ptr const& error, bool hears);
  void heard(std::string_view said);
  void say(std::string_view to, Signal const& signal);
  Outgoing next_outgoing();
  asio::awaitable<void> send_all();
  void close();

  Env& env;
  Pool& pool;
  Place const place;
  std::string const instance;
  std::string const inbox;
  Statement const notify;
  Statement const listen_where;

  SignalHandlers handlers;

  std::mutex mutex;  ///< of the next two
  Outgoing outgoing;
  bool sending = false;

  std::atomic<bool> wanted = false;
  std::atomic<bool> hearing = false;
  // On the executor only.
  bool closed = false;
  bool connecting = false;
  bool deaf = false;
  bool pausing = false;
  bool probed = false;  ///< what we said to ourselves has come
  std::chrono::nanoseconds pause = first_pause;
  std::shared_ptr<Session> session;
  std::vector<Waiter> waiters;
};

// Listening.

void PostgresSignalBus::State::start() {
  if (closed || connecting || session || !place.listens) return;
  connecting = true;
  asio::post(env.blocking(), [self = shared_from_this()] {
    auto const loop = self->env.executor();
    auto const& where = self->place;
    try {
      auto link = std::make_shared<Link>(self->env, where.listen_at.value_or(where.settings));
      asio::post(loop, [self, link] { self->connected(std::move(*link)); });
    } catch (EngineError const& error) {
      asio::post(loop, [self, error] {
        self->connecting = false;
        self->lost(error);
      });
    }
  });
}

void PostgresSignalBus::State::connected(Link link) {
  connecting = false;
  if (closed) return;
  session = std::make_shared<Session>(env, std::move(link), Session::Mode::one_by_one);
  session->start({.free = {},
                  .lost =
                      [weak = weak_from_this()](EngineError const& why) {
                        if (auto const self = weak.lock()) self->lost(why);
                      },
                  .heard =
                      [weak = weak_from_this()](std::string_view, std::string_view said) {
                        if (auto const self = weak.lock()) self->heard(said);
                      }});
  asio::co_spawn(env.executor(), begin(session),
                 [self = shared_from_this()](std::exception_ptr) {});
}

asio::awaitable<Answer> PostgresSignalBus::State::ask(Statement statement, Parameters parameters) {
  auto initiate = [](auto handler, Session* on, Call* call) {
    call->done = [handler = std::move(handler)](std::exception_ptr error, Answer answer) mutable {
      std::move(handler)(std::move(error), std::move(answer));
    };
    on->submit(std::move(*call));
  };
  auto const on = session;
  if (!on)
    throw failed(ErrorCode::aborted, Outcome::not_applied, "listen", "the client was closed");
  Call call;
  call.statement = std::move(statement);
  call.parameters = std::move(parameters);
  call.operation = "listen";
  call.deadline = env.now() + patience;
  Answer answer = co_await asio::async_initiate<asio::use_awaitable_t<> const,
                                                void(std::exception_ptr, Answer)>(
      initiate, asio::use_awaitable, on.get(), &call);
  co_return answer;
}

asio::awaitable<void> PostgresSignalBus::State::begin(std::shared_ptr<Session> on) {
  std::optional<EngineError> error;
  probed = false;
  try {
    Parameters parameters;
    parameters.add(instance).add(inbox);
    Answer const where = co_await ask(listen_where, std::move(parameters));
    for (int channel = 0; channel < 2; ++channel) {
      auto const listen = statement(fmt::format("LISTEN \"{}\"", where.text(0, channel)));
      [[maybe_unused]] Answer const done = co_await ask(listen, Parameters());
    }
    say(inbox, {std::string(probe_topic), ""});
  } catch (EngineError const& thrown) {
    error = thrown;
  }
  if (session != on) co_return;
  if (error) {
    on->close(*error);
    lost(*error);
    co_return;
  }
  // A timer may outlive the loop that the session belongs to.
  env.call_at(env.now() + probe_patience, [weak = weak_from_this(), which = std::weak_ptr(on)] {
    auto const self = weak.lock();
    auto const probed_one = which.lock();
    if (!self || !probed_one || self->session != probed_one) return;
    if (!self->probed) self->began(false);
  });
}

/// The probe has come, or not in time.
void PostgresSignalBus::State::began(bool hears) {
  deaf = !hears;
  hearing = hears;
  if (hears) {
    pause = first_pause;
    wake_waiters(nullptr, true);
    handlers.dispatch({std::string(topic::offer), ""});
    return;
  }
  std::exchange(session, nullptr)
      ->close(failed(ErrorCode::aborted, Outcome::not_applied, "listen", deaf_text));
  wake_waiters(nullptr, false);
  again_after(deaf_pause);
}

void PostgresSignalBus::State::lost(EngineError const& why) {
  session.reset();
  hearing = false;
  wake_waiters(std::make_exception_ptr(why), false);
  again_after(pause);
  pause = std::min<std::chrono::nanoseconds>(pause * 2, longest_pause);
}

void PostgresSignalBus::State::again_after(std::chrono::nanoseconds how_long) {
  if (closed || std::exchange(pausing, true)) return;
  env.call_at(env.now() + how_long, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->pausing = false;
    self->start();
  });
}

void PostgresSignalBus::State::wake_waiters(std::exception_ptr const& error, bool hears) {
  auto woken = std::exchange(waiters, {});
  for (auto& waiter : woken) waiter.done(error, hears);
}

void PostgresSignalBus::State::heard(std::string_view said) {
  auto const signal = from_notification(said);
  if (!signal) return;
  if (signal->topic == probe_topic) {
    if (!std::exchange(probed, true)) began(true);
    return;
  }
  handlers.dispatch(*signal);
}

// Sending.

/// Any thread. What is said in one turn of the loop goes out together.
void PostgresSignalBus::State::say(std::string_view to, Signal const& signal) {
  {
    std::scoped_lock const lock(mutex);
    outgoing.inboxes.emplace_back(to);
    outgoing.texts.push_back(to_notification(signal));
    if (std::exchange(sending, true)) return;
  }
  asio::post(env.executor(), [self = shared_from_this()] {
    asio::co_spawn(self->env.executor(), self->send_all(), [self](std::exception_ptr) {});
  });
}

/// What goes out next; nothing: the next word starts anew.
PostgresSignalBus::State::Outgoing PostgresSignalBus::State::next_outgoing() {
  std::scoped_lock const lock(mutex);
  Outgoing some;
  auto const count = std::min(outgoing.inboxes.size(), signals_per_statement);
  for (std::size_t i = 0; i < count; ++i) {
    some.inboxes.push_back(std::move(outgoing.inboxes[i]));
    some.texts.push_back(std::move(outgoing.texts[i]));
  }
  auto const end = static_cast<std::ptrdiff_t>(count);
  outgoing.inboxes.erase(outgoing.inboxes.begin(), outgoing.inboxes.begin() + end);
  outgoing.texts.erase(outgoing.texts.begin(), outgoing.texts.begin() + end);
  sending = count > 0;
  return some;
}

asio::awaitable<void> PostgresSignalBus::State::send_all() {
  while (!closed) {
    Outgoing const some = next_outgoing();
    if (some.inboxes.empty()) co_return;
    Parameters parameters;
    parameters.add(instance).add(some.inboxes).add(some.texts);
    try {
      [[maybe_unused]] Answer const answer = co_await pool.call(
          notify, std::move(parameters), Effect::writes, "signal", env.now() + patience);
    } catch (EngineError const&) {
      continue;  // a signal may get lost
    }
  }
}

void PostgresSignalBus::State::close() {
  closed = true;
  hearing = false;
  auto const why =
      failed(ErrorCode::aborted, Outcome::not_applied, "close", "the client was closed");
  if (auto const open = std::exchange(session, nullptr)) open->close(why);
  wake_waiters(std::make_exception_ptr(why), false);
}

// The outside.

PostgresSignalBus::PostgresSignalBus(Env& env, Pool& pool, Place const& place, std::string instance)
    : state_(std::make_shared<State>(env, pool, place, std::move(instance))) {}

PostgresSignalBus::~PostgresSignalBus() { close(); }

void PostgresSignalBus::close() {
  std::promise<void> closed;
  asio::post(state_->env.executor(), [this, &closed] {
    state_->close();
    closed.set_value();
  });
  closed.get_future().wait();
}

std::string const& PostgresSignalBus::inbox() const { return state_->inbox; }

void PostgresSignalBus::listen() {
  if (state_->wanted.exchange(true)) return;
  asio::post(state_->env.executor(), [state = state_] { state->start(); });
}

bool PostgresSignalBus::listening() const { return state_->hearing; }

Delivery PostgresSignalBus::send(std::string_view inbox, Signal const& signal) {
  if (!is_inbox(inbox)) return Delivery::dead;
  state_->say(inbox, signal);
  return Delivery::unknown;
}

void PostgresSignalBus::hear(Signal const& signal) { state_->handlers.dispatch(signal); }

void PostgresSignalBus::publish(Signal const& signal) { state_->say({}, signal); }

SignalBus::Subscription PostgresSignalBus::subscribe(std::string topic, Handler handler) {
  return state_->handlers.subscribe(std::move(topic), std::move(handler));
}

void PostgresSignalBus::unsubscribe(Subscription subscription) {
  state_->handlers.unsubscribe(subscription);
}

asio::awaitable<bool> PostgresSignalBus::reachable(Instant deadline) {
  auto& state = *state_;
  if (state.hearing) co_return true;
  if (state.deaf || !state.place.listens) co_return false;
  if (state.closed) {
    throw failed(ErrorCode::aborted, Outcome::not_applied, "listen", "the client was closed");
  }
  auto initiate = [](auto handler, State* self, Instant until) {
    State::Waiter waiter;
    waiter.done = [handler = std::move(handler)](std::exception_ptr error, bool hears) mutable {
      std::move(handler)(std::move(error), hears);
    };
    waiter.deadline = until;
    self->waiters.push_back(std::move(waiter));
    self->env.call_at(until, [weak = self->weak_from_this()] {
      auto const waited = weak.lock();
      if (!waited) return;
      std::vector<State::Waiter> late;
      std::erase_if(waited->waiters, [&](State::Waiter& one) {
        if (one.deadline > waited->env.now()) return false;
        late.push_back(std::move(one));
        return true;
      });
      for (auto& one : late) {
        one.done(
            std::make_exception_ptr(failed(ErrorCode::network_timeout, Outcome::not_applied,
                                           "listen", "signals could not be listened for in time",
                                           "is the server up, and are there connections left?")),
            false);
      }
    });
    self->wanted = true;
    if (!self->pausing) self->start();
  };
  bool const hears =
      co_await asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr, bool)>(
          initiate, asio::use_awaitable, state_.get(), deadline);
  co_return hears;
}

std::string PostgresSignalBus::deafness() const {
  return state_->deaf ? std::string(deaf_text) : std::string();
}

}  // namespace holt::postgres
