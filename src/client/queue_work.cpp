// SPDX-License-Identifier: Apache-2.0
#include "client/queue_work.hpp"

#include "client/caller_loops.hpp"
#include "client/core.hpp"
#include "contracts/task_rules.hpp"
#include "primitives/task_pace.hpp"

#include <algorithm>
#include <utility>

namespace holt::client {
namespace {

constexpr std::chrono::milliseconds guard_patience{50};

/// The end of an error tells most; cut between characters.
std::string end_of(std::string_view error) {
  if (error.size() <= task_limits::error_bytes) return std::string(error);
  error.remove_prefix(error.size() - task_limits::error_bytes);
  constexpr auto inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (!error.empty() && inside(error.front())) error.remove_prefix(1);
  return std::string(error);
}

}  // namespace

Retries::Retries(RetryPolicy const& policy)
    : policy_(policy), delays_(policy.delays.begin(), policy.delays.end()) {
  task_rules::span("the first delay of a retry", policy.first);
  task_rules::span("the longest delay of a retry", policy.longest);
  for (auto const delay : delays_) task_rules::span("a delay of a retry", delay);
}

Nanos Retries::delay(std::uint32_t failures, std::uint64_t random) const {
  auto policy = policy_;
  policy.delays = delays_;
  return pace::retry_delay(policy, failures, random);
}

struct QueueWork::Shop {
  Shop(Env& with, std::shared_ptr<Workbench> on, Handlers who, Worker::Handler else_who,
       Retries when)
      : env(with),
        bench(std::move(on)),
        handlers(std::move(who)),
        others(std::move(else_who)),
        retries(std::move(when)) {}
  [[nodiscard]] Worker::Handler const& handler_of(std::string const& kind) const {
    auto const own = handlers.find(kind);
    return own == handlers.end() ? others : own->second;
  }
  Env& env;  ///< lives as long as the client does
  std::shared_ptr<Workbench> bench;
  Handlers handlers;
  Worker::Handler others;
  Retries retries;
};

QueueWork::QueueWork(std::shared_ptr<Core> core, WorkTools tools, WorkPlan plan, Retries retries,
                     Home* home)
    : core_(std::move(core)),
      env_(tools.env),
      retries_(std::move(retries)),
      home_(home),
      crew_(std::make_unique<Crew>(plan.concurrency)),
      stop_turns_(env_),
      worker_(std::make_unique<TaskWorker>(
          tools, std::move(plan), [this] { return start_runner(); },
          [this](LateFinish const& late) { tell(late); })) {}

void QueueWork::heed(std::stop_token const& gone, std::stop_token const& closing) {
  gone_.emplace(gone, [this] { worker_->lose_all(); });
  closing_.emplace(closing, [this] { worker_->hurry(); });
}

QueueWork::~QueueWork() {
  if (core_->forked()) {
    [[maybe_unused]] auto const* const left_alone = worker_.release();
    [[maybe_unused]] auto const* const its_threads = crew_.release();
    return;
  }
  gone_.reset();
  closing_.reset();
  try {
    at_work(close_after(guard_patience));
  } catch (std::exception const&) {
    return;
  }
  gate_->close();
}

bool QueueWork::at_work(asio::awaitable<bool> work) {
  return home_ != nullptr ? run_at(*home_, std::move(work))
                          : core_->run_on_executor(std::move(work));
}

void QueueWork::at_work(std::function<void()> const& work) {
  auto call = [](std::function<void()> const& it) -> asio::awaitable<bool> {
    it();
    co_return true;
  };
  at_work(call(work));
}

void QueueWork::check_not_started(std::string_view what) const {
  if (started_) throw InvalidArgument(std::string(what) + " is set before start() or after stop()");
}

void QueueWork::handle(std::string_view kind, Worker::Handler handler) {
  core_->check_usable("worker");
  std::string const name(kind);
  check_kind(name);
  if (!handler) throw InvalidArgument("a handler must be something that can be called");
  at_work([&] {
    check_not_started("a handler");
    if (handlers_.size() == TaskStore::max_kinds && !handlers_.contains(name)) {
      throw InvalidArgument("a worker handles at most 32 kinds: use more workers");
    }
    handlers_[name] = std::move(handler);
  });
}

void QueueWork::handle_others(Worker::Handler handler) {
  core_->check_usable("worker");
  if (!handler) throw InvalidArgument("a handler must be something that can be called");
  at_work([&] {
    check_not_started("a handler");
    others_ = std::move(handler);
  });
}

void QueueWork::on_late(Worker::OnLate late) {
  core_->check_usable("worker");
  at_work([&] {
    check_not_started("who hears of late ends");
    late_ = std::move(late);
  });
}

void QueueWork::tell(LateFinish const& late) {
  if (!late_) return;
  env_.call_user([gate = gate_, call = late_, late] { gate->pass([&] { call(late); }); });
}

void QueueWork::start() {
  core_->check_usable("worker");
  at_work([this] {
    if (handlers_.empty() && !others_) {
      throw InvalidArgument("a worker needs a handler before it starts: use handle()");
    }
    std::vector<std::string> kinds;
    if (!others_) {  // no kinds: all of the queue
      for (auto const& [kind, handler] : handlers_) kinds.push_back(kind);
    }
    shop_ = std::make_shared<Shop const>(env_, worker_->bench(), handlers_, others_, retries_);
    worker_->start(std::move(kinds));
    if (home_ != nullptr) attention_ = home_->attention();
    started_ = true;
  });
}

bool QueueWork::stop(std::chrono::milliseconds patience) {
  if (patience < std::chrono::milliseconds(0)) {
    throw InvalidArgument("a patience below zero is not possible: use 0 not to wait");
  }
  return at_work(stop_in_turn(std::min<Nanos>(patience, std::chrono::hours(24 * 365))));
}

asio::awaitable<bool> QueueWork::stop_in_turn(Nanos patience) {
  co_await stop_turns_.begin();
  bool const all = co_await worker_->stop(patience);
  attention_ = nullptr;
  started_ = false;
  stop_turns_.end();
  co_return all;
}

asio::awaitable<bool> QueueWork::close_after(Nanos patience) {
  bool const all = co_await stop_in_turn(patience);
  co_await worker_->close();
  co_return all;
}

bool QueueWork::start_runner() {
  return crew_->run([core = core_, shop = shop_] { work(core, *shop); });
}

/// A thread at the bench, until nothing is left on it.
void QueueWork::work(std::shared_ptr<Core> const& core, Shop const& shop) {
  auto began = shop.env.now();
  while (auto held = shop.bench->take(began)) {
    auto end = attempt(core, shop, std::move(held));
    auto const ended = shop.env.now();
    shop.bench->done(std::move(end), ended - began);
    began = ended;
  }
}

TaskEnd QueueWork::attempt(std::shared_ptr<Core> const& core, Shop const& shop,
                           std::shared_ptr<HeldTask> held) {
  // What the handler has keeps the client alive, should it keep it.
  using Both = std::pair<std::shared_ptr<Core>, std::shared_ptr<HeldTask>>;
  auto* const inside = held.get();
  holt::Job job(std::shared_ptr<HeldTask>(std::make_shared<Both>(core, held), inside));
  try {
    shop.handler_of(held->task().kind)(job);
    TaskEnd end(held, TaskOutcome::completed);
    end.text = held->take_result();
    return end;
  } catch (RejectTask const& error) {
    TaskEnd end(held, TaskOutcome::rejected);
    end.text = end_of(error.what());
    return end;
  } catch (TryAgain const& error) {
    TaskEnd end(held, TaskOutcome::again);
    end.text = end_of(error.what());
    end.delay = std::clamp<Nanos>(error.delay, Nanos(0), task_rules::longest_span);
    return end;
  } catch (std::exception const& error) {
    return failure(shop, held, error.what());
  } catch (...) {
    return failure(shop, held, "the handler threw something that is not an exception");
  }
}

TaskEnd QueueWork::failure(Shop const& shop, std::shared_ptr<HeldTask> held,
                           std::string_view error) {
  auto const attempt = held->task().attempt;
  TaskEnd end(std::move(held), TaskOutcome::failed);
  end.text = end_of(error);
  end.delay = shop.retries.delay(attempt, shop.env.random());
  return end;
}

}  // namespace holt::client
