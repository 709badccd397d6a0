// SPDX-License-Identifier: Apache-2.0
#include "cli/due_polls.hpp"

#include <sys/eventfd.h>

#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace holt::cli {

DuePolls::DuePolls(Polling& polling, std::size_t room, int wake)
    : polling_(polling),
      wake_(wake),
      room_(static_cast<std::ptrdiff_t>(room)),
      thread_([this] { wait_for_all(); }) {}

DuePolls::~DuePolls() {
  stop();
  thread_.join();
}

void DuePolls::stop() noexcept {
  if (stop_.request_stop()) room_.release();
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
    while (true) {
      room_.acquire();
      auto poll = polling_.next(stop_.get_token());
      if (!poll) return;
      std::scoped_lock const lock(mutex_);
      due_.push_back(std::move(*poll));
      ::eventfd_write(wake_, 1);
    }
  } catch (std::exception const&) {
    std::scoped_lock const lock(mutex_);
    error_ = std::current_exception();
    ::eventfd_write(wake_, 1);
  }
}

}  // namespace holt::cli
