// SPDX-License-Identifier: Apache-2.0
#pragma once
// LeaseStore: named, owned, expiring, fenced rows with a line of waiters. Locks, elections,
// polling leases, instances and workspaces are all views of it. Every promise below is a clause
// that tests/contract checks on every engine.
//
// For all methods:
// - A store object belongs to one instance and sees nothing of another.
// - The engine's clock decides expiry. A lease is live while `until + delay > now`, held by its
//   owner while `until > now`.
// - Each call is one atomic step: it reads, compares the owner and writes as one.
// - A call ends by `deadline` (on Env::now) or soon after, else throws EngineError; its outcome()
//   says truthfully whether the step may have happened. Contention never throws.
// - Any executor may await; results arrive on the awaiting coroutine's executor.
// - Signals that a step causes are sent after it is stored, and may get lost.

#include <holt/clock.hpp>
#include <holt/lease.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace holt {

namespace asio = boost::asio;

using Nanos = std::chrono::nanoseconds;

/// What acquire asks for. A class with a constructor: safe as a temporary beside co_await.
struct LeaseRequest {
  static constexpr std::int32_t usual_priority = 5;

  LeaseRequest(std::vector<Name> wanted, Owner by, Nanos time_to_live)
      : names(std::move(wanted)), owner(std::move(by)), ttl(time_to_live) {}

  std::vector<Name> names;  ///< 1 to 8, distinct: all are granted or none
  Owner owner;
  Nanos ttl;
  bool stand_in_line = false;
  Nanos ticket_ttl{};                      ///< how long the place in line lives unless asked again
  std::int32_t priority = usual_priority;  ///< in line: 1 before 10, then first come, first served
  Nanos delay{};        ///< after an expiry (not a release) the name rests this long
  std::string note;     ///< at most 4 KiB
  std::string request;  ///< request id of a caller that may repeat itself; may be empty
};

/// One fence per name, in the order asked.
struct LeaseGrant {
  std::vector<Fence> fences;
  std::string warning;  ///< what an operator should hear of the store; empty: nothing
};

/// What renews; several in one call.
struct LeaseRenewal {
  LeaseRenewal(Name of, Owner by, Nanos time_to_live)
      : name(std::move(of)), owner(std::move(by)), ttl(time_to_live) {}
  Name name;
  Owner owner;
  Nanos ttl;
};

struct BreakRequest {
  BreakRequest(Name which, std::string why) : name(std::move(which)), reason(std::move(why)) {}
  Name name;
  std::string reason;
  Fence fence;  ///< none: whichever grant is held
  bool now = false;
};

class LeaseStore {
 public:
  static constexpr std::size_t max_names = 8;
  static constexpr std::size_t max_note_bytes = 4096;
  static constexpr std::uint32_t max_place = 32;  ///< counted no further

  virtual ~LeaseStore() = default;

  /// Throws InvalidArgument for a request that this store can never grant, as acquire does; for
  /// callers who would hear of it too late. No I/O. Any thread.
  virtual void check(LeaseRequest const& /*request*/) const {}

  /// Grants all names if each is free for this owner, else answers Busy about the first that is
  /// not.
  /// - Free: no live lease and no live waiter before this owner. A free name with live waiters is
  ///   offered to the first of them (who is signalled) and is Busy for everybody else.
  /// - The fence is drawn after the name is locked and is above every fence drawn before it in
  ///   this instance's shard.
  /// - The owner that holds a name, or has it offered, gets the same fence and a fresh ttl: asking
  ///   again is harmless, and what is held never ends earlier for it. A lease that was broken is
  ///   Busy for its own owner too.
  /// - stand_in_line: Busy also means the owner now has a place, which it keeps while it asks again
  ///   within ticket_ttl; Busy::place says which (1 is next, max_place that or later). Who becomes
  ///   third in line, or first because the name was offered to the one before, is signalled
  ///   (topic::near), to ask again and learn what ends when. With several names the place is in the
  ///   line of the busy name only. A store that has no line (Capabilities::waiting is polling)
  ///   answers place 0: its waiters ask again by the clock.
  /// - An offer lives clamp(ttl/10, 100 ms, 1 s) and is confirmed by this same call.
  virtual asio::awaitable<std::expected<LeaseGrant, Busy>> acquire(LeaseRequest request,
                                                                   Instant deadline) = 0;

  /// Moves each lease's end to now + ttl, never back, if its owner still holds it: nothing that
  /// ended, was broken or belongs to another is brought back. (Never back: a request that was
  /// delayed, or came twice, must not cut short what a later one was promised.) Only for what is
  /// held: an offer or a place in line of the owner is Lost{taken} here; those ask again with
  /// acquire. Answers in the order asked. A store on several servers may not reach all of them:
  /// then it answers Lost{none, why} for those it knows nothing of, to be asked for again; it
  /// throws when it knows nothing of any.
  virtual asio::awaitable<std::vector<std::expected<void, Lost>>> renew(
      std::vector<LeaseRenewal> renewals, Instant deadline) = 0;

  /// The owner lets go of the name: held or offered, it goes to the first live waiter as an offer
  /// (who is signalled), else nothing of it stays in the store. In line, it leaves the line.
  /// Answers Lost{taken} when the owner has neither, Lost{expired} when it had ended (and is
  /// cleaned up all the same).
  virtual asio::awaitable<std::expected<void, Lost>> release(Name name, Owner owner,
                                                             Instant deadline) = 0;

  /// Asks the holder to stop: marks the lease, which cannot be renewed from then on, and signals
  /// the holder. It is free when the holder releases or its time ends. With `now`, or when it was
  /// only offered, it is freed as by a release.
  virtual asio::awaitable<BreakResult> break_lease(BreakRequest request, Instant deadline) = 0;

  /// The live lease of this name. Writes nothing.
  virtual asio::awaitable<std::optional<LeaseInfo>> find(Name name, Instant deadline) = 0;

  /// Live leases by name after `cursor`, at most `limit` (1 to 1000). Writes nothing. Not a
  /// snapshot across pages.
  virtual asio::awaitable<LeasePage> list(std::string prefix, std::string cursor,
                                          std::uint32_t limit, Instant deadline) = 0;
};

}  // namespace holt
