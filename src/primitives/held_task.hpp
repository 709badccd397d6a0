// SPDX-License-Identifier: Apache-2.0
#pragma once
// HeldTask: one attempt at a task, from the claim to its end; HeldClaim: the lease that it and the
// others of its batch are under. The worker's loop, the workbench and the handler share them. Any
// thread, but for what belongs to the bench.

#include "base/trust_word.hpp"
#include "contracts/env.hpp"
#include "contracts/task_store.hpp"
#include "primitives/event.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace holt {

class HeldClaim {
 public:
  HeldClaim(std::uint64_t number, Owner by, Fence with)
      : number_(number), owner_(std::move(by)), fence_(with) {}

  /// What the worker knows it by.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] Owner const& owner() const noexcept { return owner_; }
  [[nodiscard]] Fence fence() const noexcept { return fence_; }

  /// True while nobody else can have been given its tasks.
  [[nodiscard]] bool held(Instant now) const noexcept { return now < trust_.until(); }
  [[nodiscard]] Instant until() const noexcept { return trust_.until(); }
  /// The last moment that was trusted; it stays readable after the loss.
  [[nodiscard]] Instant deadline() const noexcept {
    return Instant(Instant::duration(deadline_.load(std::memory_order_acquire)));
  }

  /// The store never moves the end of a claim back, so neither do we.
  void trust(Instant until) noexcept {
    if (until <= trust_.until()) return;
    deadline_.store(until.time_since_epoch().count(), std::memory_order_release);
    trust_.set(until);
  }
  void lose() noexcept { trust_.clear(); }

  /// A handler has something to tell. True: nobody knew.
  bool note() noexcept { return !noted_.exchange(true, std::memory_order_acq_rel); }
  [[nodiscard]] bool noted() const noexcept { return noted_.load(std::memory_order_acquire); }
  void notes_taken() noexcept { noted_.store(false, std::memory_order_release); }

 private:
  std::uint64_t const number_;
  Owner const owner_;
  Fence const fence_;
  TrustWord trust_;
  std::atomic<Instant::rep> deadline_{0};
  std::atomic<bool> noted_ = false;
};

class HeldTask {
 public:
  /// `wake` is set when there is progress to tell.
  HeldTask(Env& env, Task task, std::shared_ptr<HeldClaim> claim, Event wake)
      : env_(env), task_(std::move(task)), claim_(std::move(claim)), wake_(std::move(wake)) {}

  [[nodiscard]] Task const& task() const noexcept { return task_; }
  [[nodiscard]] HeldClaim& claim() const noexcept { return *claim_; }
  [[nodiscard]] bool held() const noexcept { return claim_->held(env_.now()); }
  [[nodiscard]] std::stop_token stop() const noexcept { return stop_.get_token(); }

  /// The last one counts. False: the claim is lost.
  bool progress(std::string text) {
    if (!held()) return false;
    {
      std::scoped_lock const lock(mutex_);
      note_ = std::move(text);
    }
    if (claim_->note()) wake_.set();
    return true;
  }
  [[nodiscard]] std::optional<std::string> take_note() {
    std::scoped_lock const lock(mutex_);
    return std::exchange(note_, std::nullopt);
  }
  /// It could not be told: it is kept unless there is news.
  void put_back(std::string text) {
    std::scoped_lock const lock(mutex_);
    if (!note_) note_ = std::move(text);
    claim_->note();
  }

  void result(std::string bytes) {
    std::scoped_lock const lock(mutex_);
    result_ = std::move(bytes);
  }
  [[nodiscard]] std::string take_result() {
    std::scoped_lock const lock(mutex_);
    return std::exchange(result_, {});
  }

  /// Once, as the user's code. True: nobody had asked.
  bool ask_to_stop() {
    if (asked_.exchange(true)) return false;
    env_.call_user([stop = stop_]() mutable { stop.request_stop(); });
    return true;
  }

  /// Where it is: laid out, with a handler, or done.
  enum class Stage { ready, running, done };
  [[nodiscard]] Stage stage() const noexcept { return stage_.load(std::memory_order_acquire); }
  /// When its handler must have ended; far away without a timeout, and while it has not started.
  [[nodiscard]] Instant due() const noexcept {
    return Instant(Instant::duration(due_.load(std::memory_order_acquire)));
  }

  // For the bench:
  void begin(Instant now) noexcept {
    if (task_.timeout.count() > 0) due_.store((now + task_.timeout).time_since_epoch().count());
    stage_.store(Stage::running, std::memory_order_release);
  }
  void end() noexcept { stage_.store(Stage::done, std::memory_order_release); }

 private:
  Env& env_;
  Task const task_;
  std::shared_ptr<HeldClaim> const claim_;
  Event wake_;
  std::stop_source stop_;
  std::atomic<bool> asked_ = false;
  std::atomic<Stage> stage_ = Stage::ready;
  std::atomic<Instant::rep> due_ = Instant::max().time_since_epoch().count();
  std::mutex mutex_;
  std::optional<std::string> note_;
  std::string result_;
};

}  // namespace holt
