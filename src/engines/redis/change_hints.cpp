// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/change_hints.hpp"

#include "engines/redis/errors.hpp"
#include "engines/redis/scripting.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::string_view channel = "__redis__:invalidate";
constexpr std::chrono::seconds patience{2};      // until the server has agreed
constexpr std::chrono::milliseconds pause{500};  // before the next attempt after a break
constexpr std::chrono::milliseconds rest{5};     // between two hints

}  // namespace

struct ChangeHints::State : std::enable_shared_from_this<State> {
  State(Env& of, Place const& place, Keys const& with) : env(of), keys(with), tracker(of, place) {}

  asio::awaitable<bool> track();
  asio::awaitable<void> track_again();
  void lost();
  void heard(ReplyView const& message);
  void hint();
  void ring();

  bool is_watched() {
    std::scoped_lock const lock(mutex);
    return !watchers.empty();
  }
  void rest_unless_watched() {
    wanted = is_watched();
    asio::post(env.executor(), [self = shared_from_this()] {
      if (!self->wanted) self->tracker.leave();
    });
  }

  Env& env;
  Keys const& keys;
  Connection tracker;

  std::mutex opening;  ///< held while the first watcher comes or the last one goes
  std::mutex mutex;    ///< held while hints are given, so that none comes after a watcher has gone
  std::map<std::uint64_t, std::function<void()>> watchers;
  std::uint64_t next_id = 1;
  std::atomic<bool> wanted = false;
  // On the executor only.
  bool pausing = false;  ///< about to try again
  bool resting = false;  ///< has just given a hint
  bool more = false;     ///< something has changed since
};

/// A connection that subscribes may say nothing else any more, so it asks for its own name first.
asio::awaitable<bool> ChangeHints::State::track() {
  try {
    auto const deadline = env.now() + patience;
    Reply const id =
        co_await run_command(tracker, command("CLIENT", "ID"), Effect::reads, "watch", deadline);
    auto const on = tracker.server().generation;
    auto const number = std::to_string(id->integer());
    auto const start = command("CLIENT", "TRACKING", "ON", "REDIRECT", number, "BCAST", "PREFIX",
                               keys.shards_prefix());
    [[maybe_unused]] Reply const tracked =
        co_await run_command(tracker, start, Effect::reads, "watch", deadline);
    [[maybe_unused]] Reply const subscribed = co_await run_command(
        tracker, command("SUBSCRIBE", channel), Effect::reads, "watch", deadline);
    // Another connection than the one that is tracked for would hear nothing.
    co_return tracker.is_ready() && tracker.server().generation == on;
  } catch (EngineError const&) {
    co_return false;
  }
}

asio::awaitable<void> ChangeHints::State::track_again() {
  bool const tracks = co_await track();
  hint();
  if (!tracks) lost();
}

void ChangeHints::State::lost() {
  if (!wanted) return;
  hint();
  if (std::exchange(pausing, true)) return;
  env.call_at(env.now() + pause, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->pausing = false;
    if (!self->wanted) return;
    asio::co_spawn(self->env.executor(), self->track_again(), [self](std::exception_ptr) {});
  });
}

/// {"message", channel, names of keys or nothing after a flush}. What else is written to an
/// instance is no change of a lease.
void ChangeHints::State::heard(ReplyView const& message) {
  auto const changed = message[2];
  bool matters = !changed.is_array();
  for (std::size_t i = 0; i < changed.size() && !matters; ++i) {
    matters = keys.is_about_a_lease(changed[i].text());
  }
  if (matters) hint();
}

void ChangeHints::State::hint() {
  if (resting) {
    more = true;
    return;
  }
  resting = true;
  ring();
  env.call_at(env.now() + rest, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->resting = false;
    if (std::exchange(self->more, false)) self->hint();
  });
}

void ChangeHints::State::ring() {
  std::scoped_lock const lock(mutex);
  for (auto const& [id, changed] : watchers) changed();
}

class ChangeHints::Watching final : public ChangeWatch {
 public:
  Watching(std::shared_ptr<State> state, std::function<void()> changed) : state_(std::move(state)) {
    std::scoped_lock const lock(state_->mutex);
    id_ = state_->next_id++;
    state_->watchers.emplace(id_, std::move(changed));
  }
  ~Watching() override {
    std::scoped_lock const opening(state_->opening);
    {
      std::scoped_lock const lock(state_->mutex);
      state_->watchers.erase(id_);
    }
    state_->rest_unless_watched();
  }
  Watching(Watching const&) = delete;
  Watching& operator=(Watching const&) = delete;

 private:
  std::shared_ptr<State> state_;
  std::uint64_t id_ = 0;
};

ChangeHints::ChangeHints(Env& env, Place const& place, Connection& commands, Keys const& keys)
    : state_(std::make_shared<State>(env, place, keys)) {
  // After a failover leases are written on another server.
  commands.on_connected([weak = std::weak_ptr(state_), &commands] {
    auto const state = weak.lock();
    if (!state || !state->tracker.is_ready()) return;
    if (state->tracker.server().identity != commands.server().identity) state->tracker.leave();
  });
  // The connection goes before the state that these point to.
  state_->tracker.listen(
      [state = state_.get()](ReplyView const& message) { state->heard(message); },
      [state = state_.get()] { state->lost(); });
}

ChangeHints::~ChangeHints() { close(); }

void ChangeHints::close() {
  state_->wanted = false;
  state_->tracker.close();
}

std::unique_ptr<ChangeWatch> ChangeHints::watch(std::function<void()> changed) {
  std::scoped_lock const opening(state_->opening);
  if (!state_->wanted.exchange(true)) {
    bool const tracks =
        asio::co_spawn(state_->env.executor(), state_->track(), asio::use_future).get();
    if (!tracks) {
      state_->rest_unless_watched();
      return nullptr;
    }
  }
  return std::make_unique<Watching>(state_, std::move(changed));
}

}  // namespace holt::redis
