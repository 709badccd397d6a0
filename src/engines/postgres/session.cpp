// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/session.hpp"

#include "engines/postgres/errors.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace holt::postgres {
namespace {

EngineError broken(std::string_view why) {
  return failed(ErrorCode::service_unavailable, Outcome::unknown, "connection",
                why.empty() ? "the connection broke" : why, "is the server up and reachable?");
}

/// So often a connection may lose what was kept on it: then there is something in between that we
/// do not know of.
constexpr std::size_t most_losses = 5;

constexpr std::string_view no_such_statement = "26000";
constexpr std::string_view statement_exists = "42P05";
/// Among others: what a kept statement answers is not what it answered when it was prepared.
constexpr std::string_view not_supported = "0A000";

}  // namespace

void Call::fail(EngineError const& why, Outcome if_written) {
  if (!done) return;
  auto const outcome = effect == Effect::reads ? Outcome::not_applied : if_written;
  std::exchange(done, nullptr)(
      std::make_exception_ptr(failed(why.code(), outcome, operation, why.reason(), why.hint())),
      Answer());
}

void Call::succeed() {
  if (!done) return;
  if (local_only && effect == Effect::writes) {
    fail(failed(ErrorCode::not_durable, Outcome::unknown, operation,
                "it is committed on the primary alone: the wait for a standby was cancelled"),
         Outcome::unknown);
    return;
  }
  std::exchange(done, nullptr)(nullptr, std::move(answer));
}

Session::Session(Env& env, Link link, Mode mode)
    : env_(env),
      mode_(mode),
      server_(link.server()),
      connection_(link.take()),
      keeps_(mode == Mode::pipeline && !server_.pooled),
      born_(env.now()),
      last_used_(born_),
      last_received_(born_) {}

Session::~Session() {
  if (socket_) socket_->release();  // libpq's, not ours to close
}

void Session::start(Events events) {
  events_ = std::move(events);
  PQsetNoticeReceiver(connection_.get(), &Session::on_notice, this);
  if (mode_ == Mode::pipeline) PQenterPipelineMode(connection_.get());
  socket_.emplace(env_.executor(), PQsocket(connection_.get()));
  read();
}

/// A commit that waits for a standby can be cancelled: the server then says so in a warning, and
/// the transaction is committed here and perhaps nowhere else.
void Session::on_notice(void* session, PGresult const* notice) {
  char const* const source = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  auto& self = *static_cast<Session*>(session);
  if (source == nullptr || std::string_view(source) != "SyncRepWaitForLSN") return;
  if (!self.in_flight_.empty()) self.in_flight_.front().local_only = true;
}

void Session::submit(Call call) {
  if (!is_open()) {
    call.fail(broken({}), Outcome::not_applied);
    return;
  }
  watch(call.deadline);
  if (mode_ == Mode::one_by_one && !in_flight_.empty()) {
    waiting_.push_back(std::move(call));
  } else {
    transmit(std::move(call));
  }
}

void Session::transmit(Call call) {
  int sent = send(call);
  if (sent != 0 && mode_ == Mode::pipeline) sent = PQpipelineSync(connection_.get());
  call.sent = last_used_ = env_.now();
  in_flight_.push_back(std::move(call));
  if (sent == 0) {
    lose(broken(trouble_of(connection_.get())));
    return;
  }
  flush();
}

int Session::send(Call& call) {
  auto const& name = call.statement->name;
  bool const keeps = keeps_ && !name.empty() && !outdated_.contains(name);
  if (keeps && !call.again) return send_by_name(call);
  call.by_name = call.prepares = false;
  auto const& parameters = call.parameters;
  auto const pointers = parameters.pointers();
  auto const lengths = parameters.lengths();
  auto const formats = parameters.formats();
  return PQsendQueryParams(connection_.get(), call.statement->text.c_str(), parameters.count(),
                           parameters.types().data(), pointers.data(), lengths.data(),
                           formats.data(), 1);
}

/// If it cannot be prepared, the server passes over the rest of the call: it fails with why, and
/// whoever followed meanwhile by that name does not find it.
int Session::send_by_name(Call& call) {
  auto const& [text, name] = *call.statement;
  auto const& parameters = call.parameters;
  call.by_name = true;
  call.prepares = kept_.insert(name).second;
  if (call.prepares &&
      PQsendPrepare(connection_.get(), name.c_str(), text.c_str(), 0, nullptr) == 0)
    return 0;
  auto const pointers = parameters.pointers();
  auto const lengths = parameters.lengths();
  auto const formats = parameters.formats();
  return PQsendQueryPrepared(connection_.get(), name.c_str(), parameters.count(), pointers.data(),
                             lengths.data(), formats.data(), 1);
}

void Session::flush() {
  if (writing_ || !is_open()) return;
  int const left = PQflush(connection_.get());
  if (left < 0) {
    // What the server said before it went is still to be read; read() finds the end.
    return;
  }
  if (left == 0) return;
  writing_ = true;
  socket_->async_wait(asio::posix::stream_descriptor::wait_write,
                      [self = shared_from_this()](boost::system::error_code error) {
                        self->writing_ = false;
                        if (!error) self->flush();
                      });
}

void Session::read() {
  socket_->async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](boost::system::error_code error) {
                        if (error || !self->is_open()) return;
                        self->last_received_ = self->env_.now();
                        bool const well = PQconsumeInput(self->connection_.get()) != 0;
                        self->take_results();
                        self->hear();
                        if (!self->is_open()) return;
                        if (!well || PQstatus(self->connection_.get()) == CONNECTION_BAD) {
                          self->lose(broken(trouble_of(self->connection_.get())));
                          return;
                        }
                        self->flush();
                        self->read();
                      });
}

void Session::take_results() {
  bool ended = false;  // nothing of the last command is left
  while (is_open() && !in_flight_.empty() && PQisBusy(connection_.get()) == 0) {
    Answer result(PQgetResult(connection_.get()));
    if (result) {
      ended = false;
      take(std::move(result));
    } else if (mode_ == Mode::one_by_one) {
      finish();
    } else if (std::exchange(ended, true)) {
      return;
    }
  }
}

void Session::take(Answer result) {
  auto& call = in_flight_.front();
  switch (result.status()) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
      call.answer = std::move(result);
      return;
    case PGRES_PIPELINE_SYNC:
      finish();
      return;
    case PGRES_FATAL_ERROR:
      if (call.failure) return;
      call.failure = refused(call.operation, result.state(), result.severity(), result.message());
      leave_ = leave_ || refusal_of(result.state()).leave;
      return;
    default:
      return;
  }
}

/// The transaction of the first call in flight has ended.
void Session::finish() {
  auto call = std::move(in_flight_.front());
  in_flight_.pop_front();
  last_used_ = env_.now();
  if (call.failure && lost_by_name(call) && call.done) {
    call.failure.reset();
    call.answer = Answer();
    call.again = true;
    transmit(std::move(call));
    return;
  }
  if (!waiting_.empty()) {
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    transmit(std::move(next));
  }
  if (call.failure) {
    call.fail(*call.failure, call.failure->outcome());
    if (leave_) lose(*call.failure);
  } else {
    call.succeed();
  }
  if (is_open() && events_.free) events_.free();
}

/// Whether a call failed for the name of its statement alone; the server undid what it began.
bool Session::lost_by_name(Call const& call) {
  if (!call.by_name) return false;
  auto const& name = call.statement->name;
  auto const state = state_of(*call.failure);
  if (call.prepares && !call.answer && state != statement_exists) {
    kept_.erase(name);
    return false;
  }
  if (state == no_such_statement) {
    losses_ += kept_.erase(name);
  } else if (state == statement_exists) {
    ++losses_;
  } else if (state == not_supported) {
    outdated_.insert(name);
  } else {
    return false;
  }
  keeps_ = keeps_ && losses_ < most_losses;
  return call.failure->outcome() == Outcome::not_applied;
}

void Session::hear() {
  while (is_open()) {
    std::unique_ptr<PGnotify, decltype(&PQfreemem)> const said(PQnotifies(connection_.get()),
                                                               PQfreemem);
    if (!said) return;
    if (events_.heard) events_.heard(said->relname, said->extra);
  }
}

void Session::lose(EngineError const& why) {
  if (!is_open()) return;
  auto const lost = std::exchange(events_.lost, nullptr);
  end(why);
  if (lost) lost(why);
}

/// Not at once: the caller may be in the middle of reading.
void Session::leave(EngineError const& why) {
  asio::post(env_.executor(), [self = shared_from_this(), why] { self->lose(why); });
}

void Session::close(EngineError const& why) {
  events_ = {};
  if (is_open()) end(why);
}

void Session::end(EngineError const& why) {
  auto const self = shared_from_this();
  if (socket_) socket_->release();
  socket_.reset();
  auto const gone = std::exchange(connection_, nullptr);
  auto failing = std::exchange(in_flight_, {});
  auto behind = std::exchange(waiting_, {});
  for (auto& call : failing) {
    call.fail(call.failure ? *call.failure : why,
              call.failure ? call.failure->outcome() : Outcome::unknown);
  }
  for (auto& call : behind) call.fail(why, Outcome::not_applied);
}

/// One timer, for the earliest deadline that was asked for; deadlines mostly come in order.
void Session::watch(Instant deadline) {
  if (deadline >= alarm_) return;
  alarm_ = deadline;
  env_.call_at(deadline, [weak = weak_from_this(), deadline] {
    auto const self = weak.lock();
    if (!self || self->alarm_ != deadline) return;
    self->alarm_ = Instant::max();
    self->look_at_clock();
  });
}

void Session::look_at_clock() {
  auto const now = env_.now();
  auto const late = failed(ErrorCode::network_timeout, Outcome::unknown, "wait",
                           "no answer from " + server_.host + " in time",
                           "is the server overloaded, a lock held for long, or the network down?");
  auto next = Instant::max();
  bool silent = false;
  std::vector<Call> ending;
  for (auto* const calls : {&in_flight_, &waiting_}) {
    for (auto& call : *calls) {
      if (!call.done) continue;
      if (call.deadline > now) {
        next = std::min(next, call.deadline);
        continue;
      }
      if (calls == &in_flight_ && last_received_ < call.sent) silent = true;
      Call given_up;
      given_up.done = std::exchange(call.done, nullptr);
      given_up.operation = call.operation;
      given_up.effect = calls == &in_flight_ ? call.effect : Effect::reads;
      ending.push_back(std::move(given_up));
    }
  }
  std::erase_if(waiting_, [](Call const& call) { return !call.done; });
  if (next != Instant::max()) watch(next);
  // Not a word since a call was sent whose time is over: this connection is not worth waiting for.
  if (silent) lose(late);
  for (auto& call : ending) call.fail(late, Outcome::unknown);
}

}  // namespace holt::postgres
