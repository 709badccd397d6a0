// SPDX-License-Identifier: Apache-2.0
#pragma once
// SignalHandlers: who listens to which topic, for the signal bus of any engine. Handlers may come
// and go on any thread, also while they are called.

#include "contracts/signal_bus.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holt {

class SignalHandlers {
 public:
  using Handler = SignalBus::Handler;
  using Subscription = SignalBus::Subscription;

  Subscription subscribe(std::string topic, Handler handler) {
    std::scoped_lock const lock(mutex_);
    auto const id = next_id_++;
    handlers_.emplace(id,
                      std::pair(std::move(topic), std::make_shared<Handler>(std::move(handler))));
    return id;
  }

  void unsubscribe(Subscription subscription) {
    std::shared_ptr<Handler> dropped;  // destroyed after the lock: it may own anything
    std::scoped_lock const lock(mutex_);
    auto const found = handlers_.find(subscription);
    if (found == handlers_.end()) return;
    dropped = std::move(found->second.second);
    handlers_.erase(found);
  }

  /// Calls each handler of the topic, on this thread.
  void dispatch(Signal const& signal) {
    for (auto const id : subscribers(signal.topic)) {
      // Looked up again before each call: an earlier handler may have unsubscribed this one.
      if (auto const handler = find(id)) (*handler)(signal);
    }
  }

 private:
  std::vector<Subscription> subscribers(std::string_view topic) {
    std::scoped_lock const lock(mutex_);
    std::vector<Subscription> ids;
    for (auto const& [id, entry] : handlers_) {
      if (entry.first == topic) ids.push_back(id);
    }
    return ids;
  }

  std::shared_ptr<Handler> find(Subscription id) {
    std::scoped_lock const lock(mutex_);
    auto const found = handlers_.find(id);
    return found == handlers_.end() ? nullptr : found->second.second;
  }

  std::mutex mutex_;
  std::map<Subscription, std::pair<std::string, std::shared_ptr<Handler>>> handlers_;
  Subscription next_id_ = 1;
};

}  // namespace holt
