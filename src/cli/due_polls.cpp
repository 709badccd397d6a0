// SPDX-License-Identifier: Apache-2.0
#include "cli/due_polls.hpp"

#include "cli/stream.hpp"

#include <sys/eventfd.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace holt::cli {

DuePolls::DuePolls(Polling& polling, std::size_t room, int wake)
    : polling_(polling),
      wake_(wake),
      room_(static_cast<std::ptrdiff_t>(room)),
      thread_([this] { wait_for_all(); }) {}

DuePolls::~DuePolls() {
  stop(std::chrono::milliseconds(0));
  thread_.join();
}

void DuePolls::stop(std::chrono::milliseconds patience) noexcept {
  if (stop_.stop_requested()) return;
  patience_ = patience;
  stop_.request_stop();
  room_.release();
}

std::optional<Poll> DuePolls::take() {
  std::scoped_lock const lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  if (due_.empty()) return std::nullopt;
  std::optional<Poll> first(std::move(due_.front()));
  due_.pop_front();
  return first;
}

void DuePolls::wait_for_all() noexcept {
  try {
    while (!stop_.stop_requested()) wait_for_one();
  } catch (std::exception const&) {
    std::scoped_lock const lock(mutex_);
    error_ = std::current_exception();
  }
  hand_over();
  stopped_ = true;
  ::eventfd_write(wake_, 1);
}

void DuePolls::wait_for_one() {
  room_.acquire();
  auto poll = polling_.next(stop_.get_token());
  if (!poll) return;
  std::scoped_lock const lock(mutex_);
  due_.push_back(std::move(*poll));
  ::eventfd_write(wake_, 1);
}

void DuePolls::hand_over() noexcept {
  try {
    polling_.stop(patience_.load());
  } catch (std::exception const& error) {
    talk_of_trouble(std::string("cannot hand over: ") + error.what());
  }
}

}  // namespace holt::cli
