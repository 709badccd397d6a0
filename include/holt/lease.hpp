// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values around a lease: who owns it, what is known of it, why it was not granted.
// Everything Holt hands out is a lease: a right that one owner holds until a deadline, known by a
// fence that only ever grows.

#include <holt/fence.hpp>
#include <holt/name.hpp>

#include <chrono>
#include <compare>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace holt {

/// Identifies one attempt to own something: unique, and never used for a second attempt.
/// Text form `<inbox>.<random>`: the inbox is where its process hears signals.
class Owner {
 public:
  /// An owner's text as another process printed it. The error says what is wrong.
  [[nodiscard]] static std::expected<Owner, std::string> parse(std::string_view text);

  Owner() = default;
  Owner(std::string_view inbox, std::string_view random);

  [[nodiscard]] std::string const& text() const noexcept { return text_; }
  [[nodiscard]] std::string_view inbox() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  /// 24 hex digits that stand for it where it is not to be seen: who has it may release the lease.
  [[nodiscard]] std::string hash() const;

  friend auto operator<=>(Owner const&, Owner const&) = default;

 private:
  std::string text_;
};

/// What it takes to act on a lease from anywhere: the name and the owner it was granted to.
/// No aggregate on purpose: docs/adr/0005-coroutine-rules.md.
struct Handle {
  Handle(Name of, Owner by) : name(std::move(of)), owner(std::move(by)) {}
  Name name;
  Owner owner;
};

/// What the store knows of a lease.
struct LeaseInfo {
  Name name;
  Owner owner;
  Fence fence;
  bool offered = false;  ///< promised to a waiter who has not confirmed yet
  std::chrono::system_clock::time_point acquired_at;  ///< for people; decides nothing
  std::chrono::milliseconds ttl{};
  std::chrono::milliseconds expires_in{};  ///< by the engine's clock, when it was read
  std::uint32_t waiting = 0;               ///< how many stand in line
  std::string note;                        ///< what the holder said about itself
  std::string broken;                      ///< why somebody asked the holder to stop; else empty
};

/// The same for eyes that are not to see names and owners: nothing in it lets one act on the lease.
struct LeaseSummary {
  std::string name_hash;
  std::string owner_hash;
  Fence fence;
  std::chrono::system_clock::time_point acquired_at;
  std::chrono::milliseconds expires_in{};
};
[[nodiscard]] LeaseSummary summary_of(LeaseInfo const& lease);

/// A page of a listing; `next` is empty at the end, else the cursor for the next page.
struct LeasePage {
  std::vector<LeaseInfo> leases;
  std::string next;
};

/// Why a lease was not granted.
struct Busy {
  enum class Why {
    held,       ///< somebody has it, or is about to
    timed_out,  ///< so it was until the caller's deadline
    cancelled,  ///< the caller's stop token fired
  };
  Why why = Why::held;
  Owner holder;
  Fence fence;
  std::chrono::milliseconds expires_in{};
  std::uint32_t place = 0;  ///< place in line, 1 is next, 32 is that or later; 0 when not in line
  std::string note;         ///< the holder's note
};

/// Why a lease that was held is not held any more.
enum class LossReason {
  none,
  expired,    ///< its deadline passed before the store confirmed a renewal
  taken,      ///< the store knows another owner, or none
  broken,     ///< somebody asked the holder to stop
  released,   ///< the holder let go
  closed,     ///< the client was closed, or this is a forked child
  store_gone  ///< the store was deleted or replaced under us
};
[[nodiscard]] std::string_view to_string(LossReason reason) noexcept;
[[nodiscard]] std::string_view to_string(Busy::Why why) noexcept;

/// The answer of extend, release and the like when the caller does not own it (any more).
struct Lost {
  LossReason reason = LossReason::taken;
  std::string detail;  ///< the reason given to break; else empty
};

/// What `break` did.
enum class BreakResult {
  asked,       ///< the holder was asked to stop; free when it has, or when its lease ends
  freed,       ///< free (or offered to the next in line) now
  not_held,    ///< nobody holds it
  other_fence  ///< somebody holds it under another fence than the one given
};
[[nodiscard]] std::string_view to_string(BreakResult result) noexcept;

}  // namespace holt
#pragma GCC visibility pop
