// SPDX-License-Identifier: Apache-2.0
#include "primitives/event_queue.hpp"

#include "base/check.hpp"

#include <utility>
#include <vector>

namespace holt {
namespace {

/// A listener is done with an event when it has returned.
class Listening final : public Hearer {
 public:
  explicit Listening(Election::Listener listener) : listener_(std::move(listener)) {}
  void hear(ElectionEvent const& event, Heard heard) override {
    listener_(event);
    if (heard) heard();
  }

 private:
  Election::Listener listener_;
};

}  // namespace

EventQueue::EventQueue(Env& env) : env_(env), changed_(env), drained_(env), nursery_(env) {}

Election::Registration EventQueue::add(Election::Listener listener, Election::Listen how) {
  auto const registration = next_++;
  auto const own = std::make_shared<Listening>(std::move(listener));
  auto const ear = ears_.emplace(registration, Ear(own, own, how)).first;
  ear->second.first = told_;
  return registration;
}

void EventQueue::add(std::weak_ptr<Hearer> hearer, Election::Listen how) {
  std::erase_if(ears_, [](auto const& entry) { return entry.second.hearer.expired(); });
  auto const ear = ears_.emplace(next_++, Ear(std::move(hearer), nullptr, how)).first;
  ear->second.first = told_;
}

void EventQueue::remove(Election::Registration registration) { ears_.erase(registration); }

void EventQueue::tell(ElectionEvent event) {
  if (closing_ || ears_.empty()) return;
  waiting_.push_back(std::make_shared<Told const>(told_++, std::move(event)));
  if (!std::exchange(delivering_, true)) nursery_.spawn(deliver());
}

asio::awaitable<void> EventQueue::deliver() {
  while (!waiting_.empty() && !closing_) {
    auto const told = waiting_.front();
    std::vector<Election::Registration> present;
    for (auto const& [registration, ear] : ears_) {
      if (ear.first <= told->number) present.push_back(registration);
    }
    for (auto const registration : present) {
      auto const found = ears_.find(registration);  // it may have been removed meanwhile
      if (found == ears_.end() || closing_) continue;
      Ear ear = found->second;
      co_await tell_one(std::move(ear), told);
    }
    waiting_.pop_front();
  }
  delivering_ = false;
  drained_.set();
}

asio::awaitable<void> EventQueue::tell_one(Ear ear, std::shared_ptr<Told const> told) {
  // The hearer may outlast us, or be gone: the call gets what it needs for itself.
  Hearer::Heard heard;
  if (ear.how == Election::Listen::in_turn) {
    heard = [changed = changed_]() mutable { changed.set(); };
  }
  auto call = [hearer = ear.hearer, own = ear.own, told, heard] {
    if (auto const present = hearer.lock()) {
      present->hear(told->event, heard);
    } else if (heard) {
      heard();
    }
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
