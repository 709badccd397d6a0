// SPDX-License-Identifier: Apache-2.0
#include "client/letterbox.hpp"

#include <utility>

namespace holt::client {

Letterbox::~Letterbox() {
  if (in_hand_) in_hand_();
  for (auto const& letter : letters_) {
    if (letter.heard) letter.heard();
  }
}

void Letterbox::hear(ElectionEvent const& event, Heard heard) {
  std::shared_ptr<Question> asked;
  {
    std::scoped_lock const lock(mutex_);
    asked = std::exchange(question_, nullptr);
    if (asked) {
      in_hand_ = std::move(heard);
    } else {
      letters_.push_back({event, std::move(heard)});
    }
  }
  if (asked) asked->answer(event);
}

void Letterbox::next(std::stop_token stop, std::stop_token closing, std::shared_ptr<void> client,
                     detail::Done<std::optional<ElectionEvent>> done) {
  auto const question = std::make_shared<Question>();
  question->done = std::move(done);
  question->client = std::move(client);
  std::optional<ElectionEvent> event;
  Heard before;
  {
    std::scoped_lock const lock(mutex_);
    before = std::exchange(in_hand_, {});
    if (letters_.empty()) {
      question_ = question;
    } else {
      event = std::move(letters_.front().event);
      in_hand_ = std::move(letters_.front().heard);
      letters_.pop_front();
    }
  }
  if (before) before();
  if (event) {
    question->answer(std::move(event));
    return;
  }
  auto const end = [box = weak_from_this(), asked = std::weak_ptr(question)] {
    auto const present = box.lock();
    auto const unanswered = asked.lock();
    if (present && unanswered) present->give_up(unanswered);
  };
  question->on_stop.emplace(std::move(stop), end);
  question->on_close.emplace(std::move(closing), end);
}

/// Unless it is answered.
void Letterbox::give_up(std::shared_ptr<Question> const& question) {
  {
    std::scoped_lock const lock(mutex_);
    if (question_ != question) return;
    question_.reset();
  }
  question->answer(std::nullopt);
}

void Letterbox::Question::answer(std::optional<ElectionEvent> event) {
  detail::Outcome<std::optional<ElectionEvent>> outcome(nullptr, std::move(client));
  outcome.answer.emplace(std::move(event));
  done(std::move(outcome));
}

}  // namespace holt::client
