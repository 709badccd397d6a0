// SPDX-License-Identifier: Apache-2.0
#include "process/fetcher.hpp"

namespace holt::test {

using namespace std::chrono_literals;

Fetcher::Fetcher(Holt& holt, Plan const& plan)
    : who_(plan.who),
      log_(plan.log),
      polling_(holt.polling(
          plan.polling,
          {.node = who_, .every = plan.every, .ttl = plan.ttl, .settle = 0ms, .drain = 24h})) {
  polling_.on_assigned([this](Assignment const& assignment) {
    std::scoped_lock const lock(mutex_);
    assigned_.insert_or_assign(assignment.endpoint(), assignment);
  });
  polling_.on_lost([this](std::string const& endpoint, ReleaseReason) { lost(endpoint); });
  polling_.set_endpoints(plan.endpoints);
  polling_.start();
  for (int i = 0; i < 3; ++i) threads_.emplace_back([this] { fetch(); });
}

Fetcher::~Fetcher() {
  let_go();
  stop();
}

void Fetcher::fetch() {
  while (auto const poll = polling_.next()) {
    begin(*poll);
    work(*poll);
    end(*poll);
  }
}

void Fetcher::begin(Poll const& poll) {
  std::scoped_lock const lock(mutex_);
  auto const& endpoint = poll.endpoint();
  auto const until = poll.deadline();
  if (++in_flight_[endpoint] > 1) mistakes_ += "two polls of " + endpoint + " at once; ";
  if (fences_[endpoint] > poll.fence()) mistakes_ += "the fence of " + endpoint + " fell; ";
  if (fences_[endpoint] < poll.fence()) {
    // Who was frozen since next() has answered does not believe any more, and says nothing.
    tenures_.erase(endpoint);
    leaving_.erase(endpoint);
    if (poll.held()) tenures_.emplace(endpoint, log_.enter(endpoint, poll.fence(), who_, until));
  }
  fences_[endpoint] = poll.fence();
  ++counts_[endpoint];
  if (to_keep_ == "-" || to_keep_ == endpoint) {
    to_keep_.clear();
    kept_ = &poll;
  }
  changed_.notify_all();
}

void Fetcher::work(Poll const& poll) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return kept_ != &poll; });
}

void Fetcher::end(Poll const& poll) {
  std::scoped_lock const lock(mutex_);
  auto const& endpoint = poll.endpoint();
  --in_flight_[endpoint];
  auto const tenure = tenures_.find(endpoint);
  if (tenure == tenures_.end()) return;
  auto const until = poll.deadline();
  bool const leaves = leaving_.erase(endpoint) > 0;
  if (leaves) tenure->second.leave(until);
  if (leaves || !tenure->second.still([&] { return poll.held(); }, until)) tenures_.erase(tenure);
}

/// It is left when this has returned and the poll in flight has ended, whichever is the later.
void Fetcher::lost(std::string const& endpoint) {
  std::scoped_lock const lock(mutex_);
  auto const until = assigned_.at(endpoint).deadline();
  assigned_.erase(endpoint);
  auto const tenure = tenures_.find(endpoint);
  if (tenure == tenures_.end()) return;
  if (in_flight_[endpoint] > 0) {
    leaving_.insert(endpoint);
    return;
  }
  tenure->second.leave(until);
  tenures_.erase(tenure);
}

std::optional<Fence> Fetcher::next_poll(std::string const& endpoint,
                                        std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  auto const before = counts_[endpoint];
  bool const polled = changed_.wait_for(lock, patience, [&] { return counts_[endpoint] > before; });
  if (!polled) return std::nullopt;
  return fences_[endpoint];
}

std::uint64_t Fetcher::polls() {
  std::scoped_lock const lock(mutex_);
  std::uint64_t all = 0;
  for (auto const& [endpoint, count] : counts_) all += count;
  return all;
}

std::string Fetcher::mistakes() {
  std::scoped_lock const lock(mutex_);
  return mistakes_;
}

std::optional<Fetcher::Kept> Fetcher::keep(std::string const& endpoint,
                                           std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  to_keep_ = endpoint;
  changed_.wait_for(lock, patience, [&] { return kept_ != nullptr; });
  to_keep_.clear();
  lock.unlock();
  return kept();
}

std::optional<Fetcher::Kept> Fetcher::kept() {
  std::scoped_lock const lock(mutex_);
  if (kept_ == nullptr) return std::nullopt;
  return Kept{kept_->endpoint(), kept_->fence(), kept_->held(), kept_->lost().stop_requested()};
}

void Fetcher::let_go() {
  std::scoped_lock const lock(mutex_);
  kept_ = nullptr;
  changed_.notify_all();
}

bool Fetcher::stop() {
  bool const all = polling_.stop(20s);
  threads_.clear();
  return all;
}

}  // namespace holt::test
