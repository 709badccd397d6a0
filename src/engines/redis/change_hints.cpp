// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/change_hints.hpp"

#include "engines/redis/change_tracker.hpp"
#include "engines/redis/together.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace holt::redis {
namespace {

constexpr std::chrono::seconds patience{2};    // until the map is known
constexpr std::chrono::milliseconds rest{5};   // between two hints
constexpr std::chrono::seconds look_every{5};  // at the map, while somebody watches

}  // namespace

struct ChangeHints::State : std::enable_shared_from_this<State> {
  /// On one server, or on one of several.
  struct Tracked {
    Endpoint at;  ///< of a cluster's node; else nothing
    std::shared_ptr<ChangeTracker> tracker;
  };

  State(Env& of, Place const& where, Servers& with, Keys const& keyed)
      : env(of), place(where), servers(with), keys(keyed) {}

  asio::awaitable<bool> begin();
  void end();
  void follow();
  void look_at_map();
  [[nodiscard]] std::shared_ptr<ChangeTracker> add(Endpoint const& at);
  void hint();
  void ring();

  bool is_watched() {
    std::scoped_lock const lock(mutex);
    return !watchers.empty();
  }
  void rest_unless_watched() {
    wanted = is_watched();
    asio::post(env.executor(), [self = shared_from_this()] {
      if (!self->wanted) self->end();
    });
  }

  Env& env;
  Place const place;
  Servers& servers;
  Keys const& keys;

  std::mutex opening;  ///< held while the first watcher comes or the last one goes
  std::mutex mutex;    ///< held while hints are given, so that none comes after a watcher has gone
  std::map<std::uint64_t, std::function<void()>> watchers;
  std::uint64_t next_id = 1;
  std::atomic<bool> wanted = false;
  bool closed = false;  ///< not on the executor: whoever closes
  // On the executor only.
  bool active = false;
  std::vector<Tracked> trackers;
  bool about_to_look = false;  ///< at the map
  bool resting = false;        ///< has just given a hint
  bool more = false;           ///< something has changed since
};

std::shared_ptr<ChangeTracker> ChangeHints::State::add(Endpoint const& at) {
  auto where = place;
  if (servers.are_cluster()) {
    where.host = at.host;
    where.port = at.port;
  }
  // They are called until end(), which is before this goes.
  ChangeTracker::Hooks hooks;
  hooks.changed = [this] { hint(); };
  hooks.lost = [this] {
    hint();
    if (servers.are_cluster()) servers.cluster().refresh();
  };
  auto tracker = std::make_shared<ChangeTracker>(env, where, keys, std::move(hooks));
  trackers.push_back({at, tracker});
  return tracker;
}

/// Whether hints will come.
asio::awaitable<bool> ChangeHints::State::begin() {
  auto const self = shared_from_this();
  std::vector<Endpoint> masters{Endpoint()};
  if (servers.are_cluster()) {
    try {
      co_await servers.cluster().ready("watch", env.now() + patience);
    } catch (EngineError const&) {
      co_return false;
    }
    masters = servers.cluster().owners();
  }
  active = true;
  std::vector<ChangeTracker::Answer> answers(masters.size(), ChangeTracker::Answer::unreachable);
  std::vector<std::shared_ptr<ChangeTracker>> added;
  std::vector<asio::awaitable<void>> starts;
  auto const start = [](ChangeTracker& tracker,
                        ChangeTracker::Answer& into) -> asio::awaitable<void> {
    into = co_await tracker.start();
  };
  added.reserve(masters.size());
  starts.reserve(masters.size());
  for (auto const& at : masters) added.push_back(add(at));
  for (std::size_t i = 0; i < added.size(); ++i) starts.push_back(start(*added[i], answers[i]));
  co_await together(std::move(starts));
  bool const refused = std::ranges::count(answers, ChangeTracker::Answer::refused) > 0;
  bool const heard = std::ranges::count(answers, ChangeTracker::Answer::tracks) > 0;
  if (refused || !heard || !active) {
    end();
    co_return false;
  }
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (answers[i] != ChangeTracker::Answer::tracks) added[i]->try_again();
  }
  look_at_map();
  co_return true;
}

void ChangeHints::State::end() {
  active = false;
  for (auto const& each : std::exchange(trackers, {})) each.tracker->end();
}

/// The map of a cluster has changed.
void ChangeHints::State::follow() {
  if (!active) return;
  auto const masters = servers.cluster().owners();
  std::vector<Tracked> gone;
  std::erase_if(trackers, [&](Tracked const& each) {
    if (std::ranges::find(masters, each.at) != masters.end()) return false;
    gone.push_back(each);
    return true;
  });
  // Only now: begin() may go on from there.
  for (auto const& each : gone) each.tracker->end();
  for (auto const& at : masters) {
    if (!active) return;
    if (std::ranges::find(trackers, at, &Tracked::at) != trackers.end()) continue;
    add(at)->start_until_heard();
  }
  hint();
}

void ChangeHints::State::look_at_map() {
  if (!active || !servers.are_cluster() || std::exchange(about_to_look, true)) return;
  env.call_at(env.now() + look_every, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->about_to_look = false;
    if (!self->active) return;
    self->servers.cluster().refresh();
    self->look_at_map();
  });
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

ChangeHints::ChangeHints(Env& env, Place const& place, Servers& servers, Keys const& keys)
    : state_(std::make_shared<State>(env, place, servers, keys)) {
  std::weak_ptr const weak(state_);
  if (servers.are_cluster()) {
    servers.cluster().on_change([weak] {
      if (auto const state = weak.lock()) state->follow();
    });
    return;
  }
  // After a failover leases are written on another server.
  servers.one().on_connected([weak] {
    auto const state = weak.lock();
    if (!state) return;
    auto const& commands = state->servers.one();
    for (auto const& each : state->trackers) {
      auto& connection = each.tracker->connection();
      if (!connection.is_ready()) continue;
      if (connection.server().identity != commands.server().identity) connection.leave();
    }
  });
}

ChangeHints::~ChangeHints() { close(); }

void ChangeHints::close() {
  state_->wanted = false;
  if (std::exchange(state_->closed, true)) return;
  std::promise<void> closed;
  asio::post(state_->env.executor(), [this, &closed] {
    state_->end();
    closed.set_value();
  });
  closed.get_future().wait();
}

std::unique_ptr<ChangeWatch> ChangeHints::watch(std::function<void()> changed) {
  std::scoped_lock const opening(state_->opening);
  if (!state_->wanted.exchange(true)) {
    bool const hints =
        asio::co_spawn(state_->env.executor(), state_->begin(), asio::use_future).get();
    if (!hints) {
      state_->rest_unless_watched();
      return nullptr;
    }
  }
  return std::make_unique<Watching>(state_, std::move(changed));
}

}  // namespace holt::redis
