// SPDX-License-Identifier: Apache-2.0
#pragma once
// Letterbox: the events of an election for a coroutine of the user's: each is kept until it is
// asked for. Where events are told in turn, one is heard when the next is asked for, or when this
// goes.

#include "primitives/event_queue.hpp"

#include <holt/detail/async_elections.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

namespace holt::client {

class Letterbox final : public Hearer, public std::enable_shared_from_this<Letterbox> {
 public:
  Letterbox() = default;
  ~Letterbox() override;
  Letterbox(Letterbox const&) = delete;
  Letterbox& operator=(Letterbox const&) = delete;

  // Any thread:
  void hear(ElectionEvent const& event, Heard heard) override;
  /// As detail::EventStream::next; `closing` fires when the client is closed, which ends it too.
  void next(std::stop_token stop, std::stop_token closing, std::shared_ptr<void> client,
            detail::Done<std::optional<ElectionEvent>> done);

 private:
  struct Letter {
    ElectionEvent event;
    Heard heard;
  };
  /// A question that is not answered yet.
  struct Question {
    using OnStop = std::stop_callback<std::function<void()>>;

    detail::Done<std::optional<ElectionEvent>> done;
    std::shared_ptr<void> client;
    std::optional<OnStop> on_stop, on_close;

    void answer(std::optional<ElectionEvent> event);
  };

  void give_up(std::shared_ptr<Question> const& question);

  std::mutex mutex_;
  std::deque<Letter> letters_;
  Heard in_hand_;  ///< of the event that was given out last
  std::shared_ptr<Question> question_;
};

}  // namespace holt::client
