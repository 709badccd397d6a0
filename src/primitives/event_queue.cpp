// SPDX-License-Identifier: Apache-2.0
#include "primitives/event_queue.hpp"

#include "base/check.hpp"

#include <utility>
#include <vector>

namespace holt {

EventQueue::EventQueue(Env& env) : env_(env), changed_(env), drained_(env), nursery_(env) {}

Election::Registration EventQueue::add(Election::Listener listener, Election::Listen how) {
  auto const registration = next_++;
  ears_.emplace(registration, Ear(std::move(listener), how));
  return registration;
}

void EventQueue::remove(Election::Registration registration) { ears_.erase(registration); }

void EventQueue::tell(ElectionEvent event) {
  if (closing_ || ears_.empty()) return;
  waiting_.push_back(std::make_shared<ElectionEvent const>(std::move(event)));
  if (!std::exchange(delivering_, true)) nursery_.spawn(deliver());
}

asio::awaitable<void> EventQueue::deliver() {
  while (!waiting_.empty() && !closing_) {
    auto const event = waiting_.front();
    std::vector<Election::Registration> present;
    for (auto const& [registration, ear] : ears_) present.push_back(registration);
    for (auto const registration : present) {
      auto const found = ears_.find(registration);  // it may have been removed meanwhile
      if (found == ears_.end() || closing_) continue;
      Ear ear = found->second;
      co_await tell_one(std::move(ear), event);
    }
    waiting_.pop_front();
  }
  delivering_ = false;
  drained_.set();
}

asio::awaitable<void> EventQueue::tell_one(Ear ear, std::shared_ptr<ElectionEvent const> event) {
  // The listener may outlast us: it gets what it needs for itself.
  auto call = [listener = ear.listener, event, changed = changed_,
               in_turn = ear.how == Election::Listen::in_turn]() mutable {
    (*listener)(*event);
    if (in_turn) changed.set();
  };
  env_.call_user(std::move(call));
  if (ear.how == Election::Listen::at_once) co_return;
  [[maybe_unused]] bool const returned = co_await changed_.wait_until(Instant::max());
}

asio::awaitable<bool> EventQueue::heard(Instant deadline) {
  bool drained = true;
  while (delivering_ && drained) drained = co_await drained_.wait_until(deadline);
  co_return !delivering_;
}

asio::awaitable<void> EventQueue::close() {
  closing_ = true;
  changed_.set();
  bool const closed = co_await nursery_.close(Instant::max());
  HOLT_CHECK(closed);
}

}  // namespace holt
