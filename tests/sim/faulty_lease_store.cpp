// SPDX-License-Identifier: Apache-2.0
#include "sim/faulty_lease_store.hpp"

#include "base/check.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holt::sim {

/// One request and its reply, shared by both ends.
template <class Answer>
struct FaultyLeaseStore::Exchange {
  Exchange(Env& env, std::string what, Request<Answer> how, Nanos for_how_long)
      : operation(std::move(what)), request(std::move(how)), budget(for_how_long), arrived(env) {}

  std::string operation;
  Request<Answer> request;
  Nanos budget;
  Event arrived;
  std::optional<Answer> answer;
  std::exception_ptr error;
};

namespace {

std::exception_ptr broken(ErrorCode code, Outcome outcome, std::string_view operation) {
  return std::make_exception_ptr(
      EngineError(code, outcome, "sim", operation, "injected by the simulator"));
}

/// How long a store works at a request whose caller's deadline it does not know.
constexpr std::chrono::seconds patient_for{5};

}  // namespace

FaultyLeaseStore::FaultyLeaseStore(SimEnv& node, SimEnv& store_env, LeaseStore& store,
                                   Checker& checker, FaultOptions const& faults, std::uint64_t seed)
    : node_(node),
      store_env_(store_env),
      store_(store),
      checker_(checker),
      world_(node.world()),
      faults_(faults),
      random_(seed, world_.name(node.node()) + " link") {}

Nanos FaultyLeaseStore::draw_delay() {
  if (random_.chance(faults_.slow)) {
    // Some come too late for their caller, some only late.
    auto const longest = random_.chance(500'000) ? faults_.slow_delay / 8 : faults_.slow_delay;
    return random_.between(Nanos(1000), std::max(faults_.delay, longest));
  }
  return random_.between(Nanos(1000), faults_.delay);
}

FaultyLeaseStore::Plan FaultyLeaseStore::draw() {
  Plan plan;
  plan.there = draw_delay();
  plan.back = draw_delay();
  plan.repeated = random_.chance(faults_.repeated);
  plan.patient = random_.chance(500'000);
  if (random_.chance(faults_.refused)) plan.fate = Fate::refused;
  if (random_.chance(faults_.lost)) plan.fate = Fate::lost;
  if (random_.chance(faults_.reply_lost)) plan.fate = Fate::reply_lost;
  if (random_.chance(faults_.reset)) plan.fate = Fate::reset;
  return plan;
}

void FaultyLeaseStore::say(std::string_view text) { world_.say(node_.node(), text); }

template <class Answer>
asio::awaitable<Answer> FaultyLeaseStore::call(std::string operation, Request<Answer> request,
                                               Instant deadline) {
  if (unplugged_)
    std::rethrow_exception(broken(ErrorCode::aborted, Outcome::not_applied, operation));
  if (on_call_) on_call_();
  auto plan = draw();
  auto exchange = std::make_shared<Exchange<Answer>>(node_, operation, std::move(request),
                                                     deadline - node_.now());
  if (cut_) plan.fate = Fate::lost;
  if (plan.fate == Fate::refused) {
    reply(exchange, plan, {},
          broken(ErrorCode::service_unavailable, Outcome::not_applied, operation));
  } else if (plan.fate != Fate::lost) {
    send(exchange, plan);
  }
  if (plan.repeated && plan.fate != Fate::refused && !cut_) {
    auto second = plan;
    second.copy = true;
    second.fate = Fate::reply_lost;
    second.there = random_.between(Nanos(1000), std::max(faults_.delay, faults_.slow_delay));
    send(exchange, second);
  }
  bool const arrived = co_await exchange->arrived.wait_until(deadline);
  if (!arrived) {
    say(operation + " timed out");
    std::rethrow_exception(broken(ErrorCode::network_timeout, Outcome::unknown, operation));
  }
  if (exchange->error) std::rethrow_exception(exchange->error);
  co_return std::move(*exchange->answer);
}

template <class Answer>
void FaultyLeaseStore::send(std::shared_ptr<Exchange<Answer>> exchange, Plan plan) {
  ++under_way_;
  auto arrival = world_.now() + plan.there;
  if (faults_.ordered && !plan.copy) {
    arrival = std::max(arrival, last_arrival_);
    last_arrival_ = arrival;
  }
  world_.schedule(store_env_.node(), arrival, [this, exchange, plan] {
    if (store_lost_) {
      --under_way_;
      return;
    }
    auto const done = [this](std::exception_ptr error) {
      --under_way_;
      if (error) std::rethrow_exception(error);
    };
    asio::co_spawn(store_env_.executor(), serve(exchange, plan), done);
  });
}

template <class Answer>
asio::awaitable<void> FaultyLeaseStore::serve(std::shared_ptr<Exchange<Answer>> exchange,
                                              Plan plan) {
  std::optional<Answer> answer;
  std::exception_ptr error;
  auto const budget =
      plan.patient ? std::max<Nanos>(exchange->budget, patient_for) : exchange->budget - plan.there;
  auto const deadline = store_env_.now() + budget;
  try {
    auto got = co_await exchange->request(deadline);
    answer.emplace(std::move(got));
  } catch (EngineError const&) {
    error = std::current_exception();
  }
  if (plan.fate == Fate::reply_lost || cut_ || unplugged_) co_return;
  if (plan.fate == Fate::reset) {
    error = broken(ErrorCode::service_unavailable, Outcome::unknown, exchange->operation);
  }
  reply(exchange, plan, std::move(answer), error);
}

template <class Answer>
void FaultyLeaseStore::reply(std::shared_ptr<Exchange<Answer>> exchange, Plan plan,
                             std::optional<Answer> answer, std::exception_ptr error) {
  world_.schedule(node_.node(), world_.now() + plan.back,
                  [exchange, answer = std::move(answer), error]() mutable {
                    if (exchange->answer || exchange->error) return;
                    exchange->answer = std::move(answer);
                    exchange->error = error;
                    exchange->arrived.set();
                  });
}

asio::awaitable<std::expected<LeaseGrant, Busy>> FaultyLeaseStore::acquire(LeaseRequest request,
                                                                           Instant deadline) {
  using Answer = std::expected<LeaseGrant, Busy>;
  Request<Answer> ask = [this, request](Instant by) { return seen_acquire(request, by); };
  return call<Answer>("acquire", std::move(ask), deadline);
}

asio::awaitable<std::vector<std::expected<void, Lost>>> FaultyLeaseStore::renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  using Answer = std::vector<std::expected<void, Lost>>;
  Request<Answer> ask = [this, renewals](Instant by) { return seen_renew(renewals, by); };
  return call<Answer>("renew", std::move(ask), deadline);
}

asio::awaitable<std::expected<void, Lost>> FaultyLeaseStore::release(Name name, Owner owner,
                                                                     Instant deadline) {
  using Answer = std::expected<void, Lost>;
  Request<Answer> ask = [this, name, owner](Instant by) { return seen_release(name, owner, by); };
  return call<Answer>("release", std::move(ask), deadline);
}

asio::awaitable<BreakResult> FaultyLeaseStore::break_lease(BreakRequest request, Instant deadline) {
  Request<BreakResult> ask = [this, request](Instant by) { return seen_break(request, by); };
  return call<BreakResult>("break", std::move(ask), deadline);
}

asio::awaitable<std::optional<LeaseInfo>> FaultyLeaseStore::find(Name name, Instant deadline) {
  using Answer = std::optional<LeaseInfo>;
  Request<Answer> ask = [this, name](Instant by) { return seen_find(name, by); };
  return call<Answer>("find", std::move(ask), deadline);
}

asio::awaitable<LeasePage> FaultyLeaseStore::list(std::string prefix, std::string cursor,
                                                  std::uint32_t limit, Instant deadline) {
  Request<LeasePage> ask = [this, prefix, cursor, limit](Instant by) {
    return store_.list(prefix, cursor, limit, by);
  };
  return call<LeasePage>("list", std::move(ask), deadline);
}

asio::awaitable<std::expected<LeaseGrant, Busy>> FaultyLeaseStore::seen_acquire(
    LeaseRequest request, Instant deadline) {
  auto const started = world_.now();
  auto answer = co_await store_.acquire(request, deadline);
  if (store_lost_) co_return answer;
  if (answer) {
    say(fmt::format("store grants {} to {} with fence {}", request.names.front().text(),
                    request.owner.text(), answer->fences.front().value()));
  } else {
    say(fmt::format("store says {} is busy to {}, place {}", request.names.front().text(),
                    request.owner.text(), answer.error().place));
  }
  checker_.answered(request, answer, started);
  co_return answer;
}

asio::awaitable<std::vector<std::expected<void, Lost>>> FaultyLeaseStore::seen_renew(
    std::vector<LeaseRenewal> renewals, Instant deadline) {
  auto const started = world_.now();
  auto answers = co_await store_.renew(renewals, deadline);
  if (store_lost_) co_return answers;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    say(fmt::format("store renews {} of {} for {} ms: {}", renewals[i].name.text(),
                    renewals[i].owner.text(), renewals[i].ttl / std::chrono::milliseconds(1),
                    answers[i] ? "done" : to_string(answers[i].error().reason)));
    checker_.renewed(renewals[i], answers[i], started);
  }
  co_return answers;
}

asio::awaitable<std::expected<void, Lost>> FaultyLeaseStore::seen_release(Name name, Owner owner,
                                                                          Instant deadline) {
  checker_.releasing(name, owner);
  auto answer = co_await store_.release(name, owner, deadline);
  if (store_lost_) co_return answer;
  say(fmt::format("store releases {} of {}: {}", name.text(), owner.text(),
                  answer ? "done" : to_string(answer.error().reason)));
  checker_.released(name, owner, answer);
  co_return answer;
}

asio::awaitable<BreakResult> FaultyLeaseStore::seen_break(BreakRequest request, Instant deadline) {
  checker_.breaking(request);
  auto const answer = co_await store_.break_lease(request, deadline);
  if (store_lost_) co_return answer;
  say(fmt::format("store breaks {}: {}", request.name.text(), to_string(answer)));
  checker_.broke(request, answer);
  co_return answer;
}

asio::awaitable<std::optional<LeaseInfo>> FaultyLeaseStore::seen_find(Name name, Instant deadline) {
  auto answer = co_await store_.find(name, deadline);
  if (store_lost_) co_return answer;
  checker_.found(name, answer);
  co_return answer;
}

}  // namespace holt::sim
