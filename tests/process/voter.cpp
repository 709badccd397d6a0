// SPDX-License-Identifier: Apache-2.0
#include "process/voter.hpp"

#include "support/servers/wait_until.hpp"

namespace holt::test {

using namespace std::chrono_literals;

Voter::Voter(Holt& holt, std::string const& election, std::chrono::milliseconds ttl,
             std::string const& log, std::string who)
    : name_(election),
      who_(std::move(who)),
      log_(log),
      election_(holt.election(election, {.id = who_, .ttl = ttl})),
      noting_([this](std::stop_token const& stop) { note(stop); }) {
  election_.on([this](ElectionEvent const& event) {
    if (event.kind == ElectionEventKind::leadership_acquired) begin(event.term);
  });
  election_.start();
}

Voter::~Voter() { stop(); }

bool Voter::awaits(bool leading, std::chrono::milliseconds patience) {
  return wait_until(
      [&] {
        std::scoped_lock const lock(mutex_);
        return leading ? tenure_.has_value() : !election_.is_leader();
      },
      patience);
}

Resignation Voter::stop() {
  {
    std::scoped_lock const lock(mutex_);
    auto const until = election_.deadline();
    if (tenure_ && until != Instant()) tenure_->leave(until);
    tenure_.reset();
    stopping_ = true;
  }
  return election_.stop();
}

void Voter::start() {
  {
    std::scoped_lock const lock(mutex_);
    stopping_ = false;
  }
  election_.start();
}

void Voter::begin(Fence term) {
  std::scoped_lock const lock(mutex_);
  auto const until = election_.deadline();
  if (stopping_ || election_.term() != term || until == Instant()) return;  // over already
  believed_ = term;
  tenure_.emplace(log_.enter(name_, term, who_, until));
}

void Voter::note(std::stop_token const& stop) {
  for (; !stop.stop_requested(); std::this_thread::sleep_for(2ms)) {
    std::scoped_lock const lock(mutex_);
    if (!tenure_) continue;
    auto const until = election_.deadline();
    bool const leads = tenure_->still([this] { return election_.term() == believed_; }, until);
    if (!leads) tenure_.reset();
  }
}

}  // namespace holt::test
