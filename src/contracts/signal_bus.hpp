// SPDX-License-Identifier: Apache-2.0
#pragma once
// SignalBus: wake-up hints between processes. A signal may get lost, come twice or come late, and
// nobody's safety depends on it: who gets one looks at the store. What a lost one costs is time.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace holt {

/// What is said: a topic and a short text, together at most 1 KiB, the topic without a newline.
struct Signal {
  std::string topic;
  std::string text;
};

/// What is known of a signal that was sent.
enum class Delivery {
  sent,    ///< on its way; nothing is promised
  dead,    ///< nobody listens at this inbox and nobody ever will
  unknown  ///< could not be told
};

class SignalBus {
 public:
  using Handler = std::function<void(Signal const&)>;
  using Subscription = std::uint64_t;

  virtual ~SignalBus() = default;

  /// The address of this client, made of `[A-Za-z0-9_-]`, at most 64 bytes, never used twice.
  [[nodiscard]] virtual std::string const& inbox() const = 0;

  /// From here on, or from soon after where that takes a connection, signals arrive. Until then
  /// they are lost, which is allowed. Any thread; does not wait; cheap when it listens already.
  /// Throws EngineError when it cannot (no descriptors, no permission).
  virtual void listen() = 0;

  /// Signals arrive by now. Any thread.
  [[nodiscard]] virtual bool listening() const = 0;

  /// Sends to one inbox, at once and without waiting. Any thread. Does not throw.
  virtual Delivery send(std::string_view inbox, Signal const& signal) = 0;

  /// Sends to everybody of this store and instance who listens and subscribed to the topic,
  /// ourselves included. Any thread. Does not throw.
  virtual void publish(Signal const& signal) = 0;

  /// Calls `handler` for each signal with this topic, sent to our inbox or published, on
  /// Env::executor() or at the engine's Home, one after the other; it must be quick. Any thread.
  virtual Subscription subscribe(std::string topic, Handler handler) = 0;

  /// After it returns the handler does not start any more and, unless it is the one that calls, is
  /// not under way, if called on Env::executor(); from another thread one call may still be.
  virtual void unsubscribe(Subscription subscription) = 0;
};

/// Topics of signals about leases; the text is the owner concerned.
namespace topic {
/// A waiter should ask again at once: the name was offered to it. Without an owner: all waiters
/// should, because signals may have been lost.
inline constexpr std::string_view offer = "offer";
inline constexpr std::string_view near = "near";    ///< a waiter came near the head: ask again soon
inline constexpr std::string_view check = "check";  ///< ask the store about this lease of yours
}  // namespace topic

}  // namespace holt
