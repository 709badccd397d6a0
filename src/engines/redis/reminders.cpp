// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/reminders.hpp"

#include "engines/redis/scripting.hpp"
#include "redis_scripts.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <utility>

namespace holt::redis {
namespace {

/// Most offers are taken within one; they live for 100 ms at least.
constexpr std::chrono::milliseconds patience{20};
constexpr std::chrono::seconds longest{5};  // for the call

std::string_view inbox_of(std::string_view owner) { return owner.substr(0, owner.find('.')); }

}  // namespace

struct Reminders::State : std::enable_shared_from_this<State> {
  struct Reminder {
    std::string offered;
    std::string first;
    Env::TimerId timer = 0;
    std::uint64_t id = 0;
  };

  State(Env& of, Servers& by, Keys const& with) : env(of), servers(by), keys(with) {}

  [[nodiscard]] std::string channel_of(std::string const& owner) const {
    return keys.inbox_channel() + std::string(inbox_of(owner));
  }
  void due(std::string const& name, std::uint64_t id);
  asio::awaitable<void> send(std::string name, Reminder reminder);

  Env& env;
  Servers& servers;
  Keys const& keys;
  std::uint64_t last_id = 0;
  std::map<std::string, Reminder, std::less<>> reminders;  ///< by name
};

void Reminders::State::due(std::string const& name, std::uint64_t id) {
  auto const found = reminders.find(name);
  if (found == reminders.end() || found->second.id != id) return;
  auto reminder = std::move(found->second);
  reminders.erase(found);
  asio::co_spawn(env.executor(), send(name, std::move(reminder)),
                 [self = shared_from_this()](std::exception_ptr) {});
}

asio::awaitable<void> Reminders::State::send(std::string name, Reminder reminder) {
  ScriptCall call(scripts::remind, 1, 3);
  keys.add_lease(name, call);
  call.add(reminder.offered).add(reminder.first).add(channel_of(reminder.first));
  try {
    [[maybe_unused]] Reply const reply =
        co_await run_script(servers, call, reading, env.now() + longest);
  } catch (EngineError const&) {
    co_return;  // a signal may get lost
  }
}

Reminders::Reminders(Env& env, Servers& servers, Keys const& keys)
    : state_(std::make_shared<State>(env, servers, keys)) {}

void Reminders::remind_later(std::string_view name, std::string_view offered,
                             std::string_view first) {
  settled(name);
  auto& state = *state_;
  State::Reminder reminder;
  reminder.offered = offered;
  reminder.first = first;
  reminder.id = ++state.last_id;
  reminder.timer = state.env.call_at(
      state.env.now() + patience,
      [weak = state.weak_from_this(), name = std::string(name), id = reminder.id] {
        if (auto const self = weak.lock()) self->due(name, id);
      });
  state.reminders.emplace(name, std::move(reminder));
}

bool Reminders::about(std::string_view name) const {
  return !state_->reminders.empty() && state_->reminders.contains(name);
}

void Reminders::settled(std::string_view name) {
  auto const found = state_->reminders.find(name);
  if (found == state_->reminders.end()) return;
  state_->env.cancel(found->second.timer);
  state_->reminders.erase(found);
}

void Reminders::close() {
  std::promise<void> sent;
  asio::post(state_->env.executor(), [this, &sent] {
    auto const left = std::exchange(state_->reminders, {});
    for (auto const& [name, reminder] : left) {
      state_->env.cancel(reminder.timer);
      if (!state_->servers.one().is_ready()) continue;
      state_->servers.one().tell(
          command("PUBLISH", state_->channel_of(reminder.first), "near\n" + reminder.first));
    }
    // Behind what was just asked for, which goes out in a turn of its own.
    asio::post(state_->env.executor(), [&sent] { sent.set_value(); });
  });
  sent.get_future().wait();
}

}  // namespace holt::redis
