// SPDX-License-Identifier: Apache-2.0
#include <holt/detail/async_elections.hpp>

#include "client/inside.hpp"
#include "client/letterbox.hpp"

#include <utility>

namespace holt::detail {

using client::Core;
using client::Inside;
using client::Letterbox;

namespace {

class Stream final : public EventStream {
 public:
  Stream(std::shared_ptr<Core> core, std::shared_ptr<Letterbox> letters)
      : core_(std::move(core)), letters_(std::move(letters)) {}
  void next(std::stop_token stop, Done<std::optional<ElectionEvent>> done) override {
    letters_->next(std::move(stop), core_->closing(), core_, std::move(done));
  }

 private:
  std::shared_ptr<Core> core_;
  std::shared_ptr<Letterbox> letters_;
};

asio::awaitable<bool> stand(Candidate& candidate) {
  candidate.start();
  co_return true;
}

}  // namespace

void start_standing(Election const& election, Done<bool> done) {
  auto& standing = Inside::standing(election);
  standing.core().check_usable("election");
  standing.core().start(stand(standing.candidate()), std::move(done));
}

void start_stop(Election const& election, std::chrono::milliseconds deadline,
                Done<Resignation> done) {
  auto& standing = Inside::standing(election);
  standing.core().start(standing.stop(deadline), std::move(done));
}

void start_resign(Election const& election, std::string const& to,
                  std::chrono::milliseconds deadline, Done<Resignation> done) {
  auto& standing = Inside::standing(election);
  standing.core().start(standing.resign(to, deadline), std::move(done));
}

void start_events(Election const& election, Election::Listen how,
                  Done<std::unique_ptr<EventStream>> done) {
  auto& standing = Inside::standing(election);
  standing.core().check_usable("election");
  Done<std::shared_ptr<Letterbox>> opened =
      [done = std::move(done)](Outcome<std::shared_ptr<Letterbox>> outcome) mutable {
        Outcome<std::unique_ptr<EventStream>> stream(std::move(outcome.error), outcome.client);
        if (outcome.answer) {
          stream.answer.emplace(std::make_unique<Stream>(
              std::static_pointer_cast<Core>(outcome.client), std::move(*outcome.answer)));
        }
        done(std::move(stream));
      };
  standing.core().start(standing.letters(how), std::move(opened));
}

void start_leader(Holt const& holt, Name const& name, Done<std::optional<LeaderInfo>> done) {
  Inside::core(holt).start_leader(name, std::move(done));
}

}  // namespace holt::detail
