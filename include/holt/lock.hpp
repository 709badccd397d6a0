// SPDX-License-Identifier: Apache-2.0
#pragma once
// A lock is a fenced lease that one owner holds at a time, renewed in the background.
// Safety rests on the fence: give it to the resource you protect. `held()` turns false by itself,
// with no I/O, before anybody else can be granted the name; between a check and a write only the
// fence protects.

#include <holt/clock.hpp>
#include <holt/lease.hpp>

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>
#include <type_traits>

#pragma GCC visibility push(default)
namespace holt {

/// How to take a lock. Trivially destructible on purpose: docs/adr/0005-coroutine-rules.md.
struct LockOptions {
  std::chrono::milliseconds ttl{30'000};  ///< 100 ms to 24 h
  std::chrono::milliseconds wait{0};      ///< how long to stand in line; 0 tries once
  bool renew = true;                      ///< false: the lease simply ends after ttl
  std::string_view note{};                ///< shown to others by find and list; at most 4 KiB
};
static_assert(std::is_trivially_destructible_v<LockOptions>);

/// No limit on a wait but the stop token.
inline constexpr std::chrono::milliseconds wait_forever = std::chrono::milliseconds::max();

namespace [[gnu::visibility("hidden")]] client {
class Core;
class HeldLease;
struct Inside;
}  // namespace client

/// Holds a lock until it is released, destroyed or lost. Move-only. Any thread may use it, one at
/// a time for moving, extend, release and detach; `held()`, `fence()`, `deadline()` and `lost()`
/// from several.
class Lock {
 public:
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&& other) noexcept;  ///< releases what it held
  Lock(Lock const&) = delete;
  Lock& operator=(Lock const&) = delete;

  /// Releases, waiting at most 50 ms for the store; the ttl ends what could not be released.
  ~Lock();

  [[nodiscard]] Name const& name() const noexcept;
  [[nodiscard]] Owner const& owner() const noexcept;
  [[nodiscard]] Fence fence() const noexcept;
  [[nodiscard]] Handle handle() const;

  /// True while no other owner can have been granted the name. One load and a clock read, no I/O.
  [[nodiscard]] bool held() const noexcept;

  /// When held() turns false unless a renewal is confirmed before. Never later than the store's.
  [[nodiscard]] Instant deadline() const noexcept;

  /// Fires when the lock is lost: at the deadline, when the store says so, when it is broken or
  /// released. Callbacks run on a thread of the library and may take their time.
  [[nodiscard]] std::stop_token lost() const noexcept;

  /// Why held() is false; `none` while it is true.
  [[nodiscard]] LossReason loss() const noexcept;

  /// Sets what to call when a renewal fails or half of the time is gone: still held, but in
  /// danger. Called at most once per danger, on a thread of the library; what it throws is ignored.
  void on_at_risk(std::function<void()> callback);

  /// Makes the lock live for `ttl` from now at least, and renews it with this ttl from now on.
  /// Answers Lost when the lock is not ours any more. Throws EngineError: then still held until
  /// deadline().
  std::expected<void, Lost> extend(std::chrono::milliseconds ttl);

  /// Lets go. Answers Lost when it was lost before. Throws EngineError: then the ttl ends it.
  /// A second call answers Lost{released}.
  std::expected<void, Lost> release();

  /// Stops caring for the lock without letting go: it stays in the store until its ttl ends, and
  /// whoever has the handle may extend or release it. held() is false from here on.
  Handle detach();

 private:
  friend class client::Core;
  friend struct client::Inside;
  explicit Lock(std::shared_ptr<client::HeldLease> held) noexcept;
  std::shared_ptr<client::HeldLease> held_;
};

}  // namespace holt
#pragma GCC visibility pop
