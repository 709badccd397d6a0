// SPDX-License-Identifier: Apache-2.0
#include "primitives/task_calls.hpp"

#include "primitives/backoff.hpp"
#include "primitives/event.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace holt {
namespace {

constexpr RetryOptions lost_reply{.delay = std::chrono::milliseconds(10),
                                  .max_delay = std::chrono::milliseconds(500)};
constexpr std::chrono::milliseconds first_look{20};
constexpr std::chrono::seconds rarest_look{1};

bool ended(TaskInfo const& task) {
  return task.state == TaskState::completed || task.state == TaskState::dead ||
         task.state == TaskState::cancelled;
}

/// Sets the event when the end of a task is heard of, as long as it lives.
class Ear {
 public:
  Ear(SignalBus& signals, TaskId const& id, Event heard)
      : signals_(signals),
        subscription_(signals.subscribe(
            std::string(topic::task_ended),
            [text = id.text(), heard = std::move(heard)](Signal const& signal) mutable {
              if (signal.text == text) heard.set();
            })) {}
  ~Ear() { signals_.unsubscribe(subscription_); }
  Ear(Ear const&) = delete;
  Ear& operator=(Ear const&) = delete;

 private:
  SignalBus& signals_;
  SignalBus::Subscription subscription_;
};

}  // namespace

asio::awaitable<std::vector<Added>> TaskCalls::add(AddRequest request, Instant deadline) {
  request.request =
      series_.next(request.queue, env_.now(), env_.wall(), [this] { return env_.random(); });
  std::optional<EngineError> lost;
  for (std::uint32_t tries = 1;; ++tries) {
    std::optional<std::vector<Added>> answer;
    std::optional<EngineError> failure;
    try {
      std::vector<Added> added = co_await tasks_.add(request, deadline);
      answer = std::move(added);
    } catch (EngineError const& error) {
      failure = error;
    }
    if (answer) co_return std::move(*answer);
    if (failure->outcome() == Outcome::unknown) lost = failure;
    if (!lost) throw *failure;
    request.request.fresh = false;
    auto const again = env_.now() + backoff::pause(lost_reply, tries, env_.random());
    if (again >= deadline || !failure->retryable()) throw *lost;
    Event pause(env_);
    [[maybe_unused]] bool const woken = co_await pause.wait_until(again);
  }
}

asio::awaitable<std::optional<TaskInfo>> TaskCalls::wait(TaskId id, Instant give_up, Nanos patience,
                                                         std::stop_token stop) {
  Event wake(env_);
  Ear const ear(signals_, id, wake);
  std::stop_callback const stopped(stop, [&wake] { wake.set(); });
  for (Nanos pause = first_look; !stop.stop_requested(); pause = pause * 3 / 2) {
    std::optional<TaskInfo> found = co_await tasks_.find(id, env_.now() + patience);
    if (!found || ended(*found)) co_return found;
    auto const now = env_.now();
    if (now >= give_up) break;
    auto const look = std::min(give_up, now + std::min<Nanos>(pause, rarest_look));
    [[maybe_unused]] bool const heard = co_await wake.wait_until(look);
  }
  co_return std::nullopt;
}

}  // namespace holt
