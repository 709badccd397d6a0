// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/change_tracker.hpp"

#include "engines/redis/errors.hpp"
#include "engines/redis/scripting.hpp"

#include <boost/asio/co_spawn.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::string_view channel = "__redis__:invalidate";
constexpr std::chrono::seconds patience{2};      // until the server has agreed
constexpr std::chrono::milliseconds pause{500};  // before the next attempt after a break

}  // namespace

ChangeTracker::ChangeTracker(Env& env, Place const& place, Keys const& keys, Hooks hooks)
    : env_(env), keys_(keys), hooks_(std::move(hooks)), connection_(env, place) {
  // end() comes before this goes, and takes them away.
  connection_.listen([this](ReplyView const& message) { heard(message); }, [this] { try_again(); });
}

/// A connection that subscribes may say nothing else any more, so it asks for its own name first.
asio::awaitable<ChangeTracker::Answer> ChangeTracker::start() {
  auto const self = shared_from_this();
  auto const deadline = env_.now() + patience;
  try {
    Reply const id = co_await run_command(connection_, command("CLIENT", "ID"), Effect::reads,
                                          "watch", deadline);
    auto const on = connection_.server().generation;
    auto const number = std::to_string(id->integer());
    auto const track = command("CLIENT", "TRACKING", "ON", "REDIRECT", number, "BCAST", "PREFIX",
                               keys_.shards_prefix());
    [[maybe_unused]] Reply const tracked =
        co_await run_command(connection_, track, Effect::reads, "watch", deadline);
    [[maybe_unused]] Reply const subscribed = co_await run_command(
        connection_, command("SUBSCRIBE", channel), Effect::reads, "watch", deadline);
    // Another connection than the one that is tracked for would hear nothing.
    bool const same = connection_.is_ready() && connection_.server().generation == on;
    co_return same ? Answer::tracks : Answer::unreachable;
  } catch (EngineError const& error) {
    co_return error.retryable() ? Answer::unreachable : Answer::refused;
  }
}

void ChangeTracker::start_until_heard() {
  asio::co_spawn(env_.executor(), start_again(),
                 [self = shared_from_this()](std::exception_ptr) {});
}

asio::awaitable<void> ChangeTracker::start_again() {
  auto const self = shared_from_this();
  Answer const answer = co_await start();
  if (ended_) co_return;
  hooks_.changed();
  if (answer != Answer::tracks) try_again();
}

void ChangeTracker::try_again() {
  if (ended_) return;
  hooks_.lost();
  if (std::exchange(pausing_, true)) return;
  env_.call_at(env_.now() + pause, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self || self->ended_) return;
    self->pausing_ = false;
    self->start_until_heard();
  });
}

void ChangeTracker::end() {
  ended_ = true;
  connection_.end("nobody watches any more");
}

/// {"message", channel, names of keys or nothing after a flush}. What else is written to an
/// instance is no change of a lease.
void ChangeTracker::heard(ReplyView const& message) {
  auto const changed = message[2];
  bool matters = !changed.is_array();
  for (std::size_t i = 0; i < changed.size() && !matters; ++i) {
    matters = keys_.is_about_a_lease(changed[i].text());
  }
  if (matters) hooks_.changed();
}

}  // namespace holt::redis
