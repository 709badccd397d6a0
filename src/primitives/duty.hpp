// SPDX-License-Identifier: Apache-2.0
#pragma once
// Duty: one endpoint that this node has, from the grant to the end of all work on it. The poller,
// the user's Assignment and the polls in flight share it. Any thread.

#include "contracts/env.hpp"
#include "primitives/event.hpp"
#include "primitives/keeper.hpp"

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace holt {

class Duty {
 public:
  /// `wake` is set each time a piece of work ends.
  Duty(Env& env, std::string endpoint, std::shared_ptr<KeptLease> lease, Event wake)
      : env_(env),
        endpoint_(std::move(endpoint)),
        lease_(std::move(lease)),
        wake_(std::move(wake)) {}

  [[nodiscard]] std::string const& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] KeptLease& lease() const noexcept { return *lease_; }
  [[nodiscard]] std::shared_ptr<KeptLease> const& shared_lease() const noexcept { return lease_; }

  /// Nobody else can have it.
  [[nodiscard]] bool held() const noexcept { return lease_->held(env_.now()); }
  /// A poll may start.
  [[nodiscard]] bool may_poll() const noexcept {
    return !ended_.load(std::memory_order_acquire) && lease_->confirmed() && held();
  }

  /// Nothing starts any more. What the user waits for fires as the user's code.
  void end() {
    if (ended_.exchange(true)) return;
    env_.call_user([stop = assignment_]() mutable { stop.request_stop(); });
  }
  [[nodiscard]] bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  /// Polls in flight are to stop.
  void stop_polls() {
    if (polls_told_.exchange(true)) return;
    env_.call_user([stop = polls_]() mutable { stop.request_stop(); });
  }

  /// Of an Assignment, and of its polls.
  [[nodiscard]] std::stop_token assignment_stop() const noexcept { return assignment_.get_token(); }
  [[nodiscard]] std::stop_token poll_stop() const noexcept { return polls_.get_token(); }

  /// The user knows that it has it. False: it was abandoned before, and the user is to be told that
  /// by whoever calls this.
  [[nodiscard]] bool announce() noexcept {
    return announcement_.exchange(Announcement::done) != Announcement::abandoned;
  }
  [[nodiscard]] bool announced() const noexcept {
    return announcement_.load() == Announcement::done;
  }
  /// Nobody waits for announce() any more. False: it has come.
  [[nodiscard]] bool abandon() noexcept {
    auto expected = Announcement::awaited;
    return announcement_.compare_exchange_strong(expected, Announcement::abandoned);
  }

  /// A piece of work: a poll, a call to the user.
  void work_begins() noexcept { working_.fetch_add(1, std::memory_order_acq_rel); }
  void work_ends() {
    working_.fetch_sub(1, std::memory_order_acq_rel);
    wake_.set();
  }
  [[nodiscard]] bool idle() const noexcept { return working_.load(std::memory_order_acquire) == 0; }

 private:
  enum class Announcement { awaited, done, abandoned };

  Env& env_;
  std::string endpoint_;
  std::shared_ptr<KeptLease> lease_;
  Event wake_;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> polls_told_ = false;
  std::atomic<Announcement> announcement_ = Announcement::awaited;
  std::atomic<int> working_ = 0;
  std::stop_source assignment_;
  std::stop_source polls_;
};

}  // namespace holt
