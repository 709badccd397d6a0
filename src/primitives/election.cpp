// SPDX-License-Identifier: Apache-2.0
#include "primitives/election.hpp"

#include "base/check.hpp"
#include "primitives/trust.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace holt {
namespace {

/// Before all that a user may choose, 1 to 10.
constexpr std::int32_t preferred_priority = 0;
constexpr std::int32_t front_priority = -1;
/// How often to look whether a listener that takes long has returned, or we are to stop.
constexpr std::chrono::milliseconds listener_check{50};

/// The three lines of a signal's text; missing ones are empty.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines(3);
  for (auto& line : lines) {
    auto const end = text.find('\n');
    line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

Signal signal_of(std::string_view topic, Name const& lease, std::string const& rest) {
  return {std::string(topic), lease.text() + '\n' + rest};
}

}  // namespace

std::string_view to_string(ElectionState state) noexcept {
  constexpr std::array<std::string_view, 3> words{"follower", "candidate", "leader"};
  return words.at(static_cast<std::size_t>(state));
}

std::string_view to_string(ElectionEventKind kind) noexcept {
  constexpr std::array<std::string_view, 4> words{"state_changed", "leadership_acquired",
                                                  "leadership_lost", "election_failed"};
  return words.at(static_cast<std::size_t>(kind));
}

std::string_view to_string(Resignation resignation) noexcept {
  constexpr std::array<std::string_view, 4> words{"done", "not_leader", "no_candidate", "late"};
  return words.at(static_cast<std::size_t>(resignation));
}

Candidate::Candidate(Env& env, Locks& locks, Keeper& keeper, SignalBus& signals,
                     Candidacy candidacy)
    : env_(env),
      locks_(locks),
      keeper_(keeper),
      signals_(signals),
      candidacy_(std::move(candidacy)),
      events_(env),
      wake_(env),
      ended_(env),
      nursery_(env) {
  auto const hear = [this](std::string_view topic, LineHandler handler) {
    auto ours = [this, handler = std::move(handler)](Signal const& signal) {
      if (lines_of(signal.text)[0] == candidacy_.lease.text()) {
        nursery_.spawn(handle(handler, signal.text));
      }
    };
    subscriptions_.push_back(signals_.subscribe(std::string(topic), std::move(ours)));
  };
  hear(topic::front, [this](Lines const& lines) { on_front(lines[1], lines[2]); });
  hear(topic::ready, [this](Lines const& lines) { on_ready(lines[1]); });
  hear(topic::resign, [this](Lines const& lines) {
    // It may be said again after the term that it was said to.
    bool const meant = term_ && term_->lease->fence().decimal() == lines[2];
    if (meant) wish_to_resign(lines[1]);
  });
  hear(topic::prefer, [this](Lines const&) {
    if (candidacy_.yields) wish_to_resign({});
  });
}

/// Signals may come on a thread of the engine.
asio::awaitable<void> Candidate::handle(LineHandler handler, std::string text) {
  handler(lines_of(text));
  co_return;
}

void Candidate::start() {
  signals_.listen();
  stopping_ = false;
  if (!std::exchange(running_, true)) nursery_.spawn(run());
}

asio::awaitable<Resignation> Candidate::stop(Instant deadline) {
  if (!running_) co_return Resignation::not_leader;
  stopping_ = true;
  stop_by_ = deadline;
  stopped_as_ = Resignation::not_leader;
  present_.end();
  campaign_.request_stop();
  if (term_) term_->over = true;
  wake_.set();
  while (running_ && stopping_) {
    bool const ended = co_await ended_.wait_until(deadline);
    if (!ended) co_return Resignation::late;
  }
  co_return stopped_as_;
}

asio::awaitable<Resignation> Candidate::resign(std::string to, Instant deadline) {
  if (!term_ || stopping_) co_return Resignation::not_leader;
  answer_wish(Resignation::late);  // one before it, that nobody waits for
  auto const wish = std::make_shared<Wish>(env_, std::move(to), deadline);
  wish_ = wish;
  wake_.set();
  bool const answered = co_await wish->answered.wait_until(deadline + candidacy_.patience);
  co_return answered ? wish->answer : Resignation::late;
}

void Candidate::tell_from_now_on(std::shared_ptr<Hearer> const& hearer, Election::Listen how) {
  if (term_ && leading()) hearer->hear(term_->begun, {});
  events_.add(hearer, how);
}

asio::awaitable<void> Candidate::close() {
  for (auto const subscription : subscriptions_) signals_.unsubscribe(subscription);
  bool const closed = co_await nursery_.close(Instant::max());
  HOLT_CHECK(closed);
  co_await events_.close();
}

asio::awaitable<void> Candidate::run() {
  while (!stopping_) {
    // Work of the term before may still be stopping: no new term beside it.
    bool const heard = co_await events_.heard(env_.now() + listener_check);
    if (heard) co_await stand();
  }
  enter(ElectionState::follower);
  running_ = false;
  ended_.set();
}

/// Stands in line until it leads, and then until it does not any more; or until the campaign is
/// called off, or the store has failed for too long.
asio::awaitable<void> Candidate::stand() {
  if (state() == ElectionState::follower) enter(ElectionState::candidate);
  std::shared_ptr<KeptLease> lease;
  std::string cause;
  auto wanted = request();
  try {
    auto answer = co_await locks_.acquire(std::move(wanted));
    if (answer) lease = std::move(*answer);
  } catch (EngineError const& error) {
    cause = error.what();
  }
  if (lease && stopping_) {
    co_await give_up(std::move(lease));
  } else if (lease) {
    co_await lead(std::move(lease));
  } else if (!cause.empty()) {
    fail(std::move(cause));
    [[maybe_unused]] bool const woken =
        co_await wake_.wait_until(env_.now() + trust::retry_after(candidacy_.ttl));
  }
}

/// It was granted when nobody wanted it any more: no term begins.
asio::awaitable<void> Candidate::give_up(std::shared_ptr<KeptLease> lease) {
  try {
    [[maybe_unused]] auto const answer =
        co_await locks_.release(lease, env_.now() + candidacy_.patience);
  } catch (EngineError const&) {
    stopped_as_ = Resignation::late;  // its ttl ends it
  }
}

LockRequest Candidate::request() {
  campaign_ = std::stop_source();
  LockRequest request(candidacy_.lease, candidacy_.ttl);
  request.wait = true;
  request.give_up = Instant::max();
  request.patience = candidacy_.patience;
  request.renew_every = candidacy_.renew_every;
  request.delay = candidacy_.delay;
  request.note = candidacy_.id;
  request.stop = campaign_.get_token();
  request.priority = candidacy_.priority;
  if (candidacy_.preferred) request.priority = preferred_priority;
  if (!front_for_.empty()) request.priority = front_priority;
  request.on_busy = [this](Busy const& busy) { heard_busy(busy); };
  return request;
}

/// Somebody else leads, or is about to.
void Candidate::heard_busy(Busy const& busy) {
  enter(ElectionState::follower);
  // A place that is about to be left is none to be called to.
  if (busy.place != 1 || campaign_.stop_requested()) return;
  auto const leader = std::exchange(front_for_, {});
  if (!leader.empty()) {
    signals_.send(leader, signal_of(topic::ready, candidacy_.lease, candidacy_.id));
  } else if (candidacy_.preferred) {
    signals_.send(busy.holder.inbox(), signal_of(topic::prefer, candidacy_.lease, candidacy_.id));
  }
}

asio::awaitable<void> Candidate::lead(std::shared_ptr<KeptLease> lease) {
  term_ = std::make_shared<Term>(lease);
  begin(*term_);
  std::stop_callback const on_loss(lease->lost(), [wake = wake_]() mutable { wake.set(); });
  while (true) {
    bool const held = lease->loss() == LossReason::none && lease->held(env_.now());
    auto const wish = wish_;
    if (!held || stopping_ || term_->over) break;
    if (!wish) {
      [[maybe_unused]] bool const woken = co_await wake_.wait_until(lease->deadline());
      continue;
    }
    bool ready = wish->to.empty();
    if (!ready) ready = co_await make_room(wish);
    bool const wished = wish_ == wish;  // or there is another wish by now
    if (ready && wished) break;
    if (wished && !term_->over) answer_wish(Resignation::no_candidate);
  }
  bool const held = lease->held(env_.now());
  auto deadline = lease->deadline();
  if (held && wish_) deadline = wish_->deadline;
  if (held && stopping_) deadline = stop_by_;
  auto const how = co_await step_down(term_, deadline);
  stopped_as_ = how;
  answer_wish(how);
}

/// Lets the candidate that is wished for come first in line. False: it does not answer, or nobody
/// waits for that any more.
asio::awaitable<bool> Candidate::make_room(std::shared_ptr<Wish> wish) {
  auto const until = env_.now() + candidacy_.patience / 2;
  successor_ = wish->to;
  signals_.publish(signal_of(topic::front, candidacy_.lease, wish->to + '\n' + signals_.inbox()));
  while (!successor_.empty() && wish_ == wish && present_.held(env_.now())) {
    bool const woken = co_await wake_.wait_until(until);
    if (!woken) break;
  }
  co_return std::exchange(successor_, {}).empty();
}

/// First the work, then the lease: docs/adr/0015-elections.md.
asio::awaitable<Resignation> Candidate::step_down(std::shared_ptr<Term> term, Instant deadline) {
  auto const lease = term->lease;
  auto reason = lease->loss();
  if (reason == LossReason::none) {
    reason = lease->held(env_.now()) ? LossReason::released : LossReason::expired;
  }
  end(term, reason);
  bool const stopped = co_await events_.heard(deadline);
  term_.reset();
  if (!stopped) {
    keeper_.drop(*lease, LossReason::released);
    co_return Resignation::late;
  }
  if (reason != LossReason::released && reason != LossReason::broken) co_return Resignation::done;
  auto how = Resignation::done;
  try {
    [[maybe_unused]] auto const answer =
        co_await locks_.release(lease, std::max(deadline, env_.now() + candidacy_.patience));
  } catch (EngineError const&) {
    how = Resignation::late;  // its ttl ends it
  }
  co_return how;
}

void Candidate::begin(Term& term) {
  front_for_.clear();
  if (state() == ElectionState::follower) enter(ElectionState::candidate);
  present_.begin(term.lease);
  enter(ElectionState::leader, term.lease->fence());
  auto& begun = term.begun;
  begun.kind = ElectionEventKind::leadership_acquired;
  begun.term = term.lease->fence();
  begun.stop = term.stop.get_token();
  begun.at = env_.wall();
  begun.previous = begun.now = state();
  tell(begun);
}

void Candidate::end(std::shared_ptr<Term> const& term, LossReason reason) {
  present_.end();
  env_.call_user([term] { term->stop.request_stop(); });
  enter(ElectionState::follower, term->lease->fence());
  ElectionEvent ended;
  ended.kind = ElectionEventKind::leadership_lost;
  ended.term = term->lease->fence();
  ended.reason = reason;
  tell(std::move(ended));
}

void Candidate::fail(std::string cause) {
  enter(ElectionState::follower);
  ElectionEvent failed;
  failed.kind = ElectionEventKind::election_failed;
  failed.cause = std::move(cause);
  tell(std::move(failed));
}

void Candidate::enter(ElectionState next, Fence term) {
  auto const previous = state_.exchange(next);
  if (previous == next) return;
  ElectionEvent event;
  event.previous = previous;
  event.term = term;
  tell(std::move(event));
}

void Candidate::tell(ElectionEvent event) {
  event.at = env_.wall();
  event.now = state();
  if (event.kind != ElectionEventKind::state_changed) event.previous = event.now;
  events_.tell(std::move(event));
}

void Candidate::answer_wish(Resignation what) {
  auto const wish = std::exchange(wish_, nullptr);
  if (!wish) return;
  wish->answer = what;
  wish->answered.set();
}

void Candidate::wish_to_resign(std::string_view to) {
  if (!term_ || stopping_ || wish_) return;
  wish_ = std::make_shared<Wish>(env_, std::string(to), env_.now() + candidacy_.patience);
  wake_.set();
}

void Candidate::on_front(std::string_view id, std::string_view leader) {
  if (id != candidacy_.id || !running_ || stopping_ || term_) return;
  front_for_ = leader;
  campaign_.request_stop();
}

void Candidate::on_ready(std::string_view id) {
  if (successor_.empty() || id != successor_) return;
  successor_.clear();
  wake_.set();
}

}  // namespace holt
