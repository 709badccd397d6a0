// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replica: one replica of a named instance. It comes up (claims a name and a workspace in one step,
// or joins), and from then on is a loop that leads while it has the name and stands in line for it
// otherwise, until it is stopped, asked to stop, or another run has the name.
// docs/adr/0019-instances.md says why it is so.
//
//   up -> leading <-> following -> ended
//
// Threads: all of it belongs to Env::executor(), but for what is marked.

#include "base/instance_note.hpp"
#include "contracts/env.hpp"
#include "primitives/ending.hpp"
#include "primitives/event.hpp"
#include "primitives/instance_register.hpp"
#include "primitives/keeper.hpp"
#include "primitives/lock.hpp"
#include "primitives/nursery.hpp"
#include "primitives/present_term.hpp"

#include <holt/instance.hpp>

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace holt {

/// Who comes up as what; all of it checked.
struct Charter {
  InstanceNote about;  ///< `instance` empty: it gets default-N
  Nanos ttl{};
  Nanos heartbeat{};
  Nanos patience{};  ///< for each question to the store
  bool force = false;
  bool join = false;
  std::uint32_t max_instances = 0;
};

class Replica {
 public:
  using Listener = std::function<void(InstanceEvent const&)>;
  using Refusal = std::expected<void, InstanceRefused>;

  Replica(Env& env, Locks& locks, InstanceRegister& instances, Charter charter, Listener listener);

  /// Once. Granted: it goes on by itself until it has ended. Throws EngineError.
  asio::awaitable<Refusal> up();
  /// Ends it and waits until the store has been told; false: it was not by `deadline`.
  asio::awaitable<bool> stop(Instant deadline);
  /// Needed before it goes; ends the loop if it still runs.
  asio::awaitable<void> close();

  // Any thread:
  /// The name's lease while we lead, else nothing.
  [[nodiscard]] std::shared_ptr<KeptLease> leading() const { return present_.held(env_.now()); }
  [[nodiscard]] std::stop_token ended() const noexcept { return over_.get_token(); }
  [[nodiscard]] Ending const& ending() const noexcept { return ending_; }

  // Any thread, after up():
  [[nodiscard]] InstanceNote const& about() const noexcept { return charter_.about; }
  [[nodiscard]] std::string const& overridden() const noexcept { return overridden_; }

 private:
  using Lease = std::shared_ptr<KeptLease>;

  // Coming up: replica_up.cpp.
  asio::awaitable<Refusal> claim();
  asio::awaitable<Refusal> claim_number();
  asio::awaitable<Refusal> claim_name();
  asio::awaitable<Refusal> take_name(bool with_workspace);
  asio::awaitable<Refusal> join_run(InstanceNote holder);
  [[nodiscard]] InstanceRefused refused(InstanceRefused::Why why, std::string by = {}) const;
  LockRequest request(Name name) const;

  // The loop: replica.cpp.
  asio::awaitable<void> run();
  asio::awaitable<void> lead();
  asio::awaitable<void> look_after();
  asio::awaitable<void> begin_term();
  asio::awaitable<void> follow();
  asio::awaitable<void> pause_after(std::string cause);
  asio::awaitable<void> stand_in_line();
  asio::awaitable<bool> may_go_on();
  asio::awaitable<void> be_present();
  asio::awaitable<void> stand_for_workspace();
  asio::awaitable<void> write_record();
  asio::awaitable<void> let_go();
  asio::awaitable<void> release(Lease lease);
  void heard_busy(Busy const& busy);
  void heard_workspace_busy(Busy const& busy);
  void finish(InstanceEnd how, std::string reason);
  void tell(InstanceEventKind kind, Fence fence, std::string detail);
  void fail(std::string const& cause);
  [[nodiscard]] bool finished() const { return ending_.how() != InstanceEnd::none; }
  [[nodiscard]] bool has(Lease const& lease) const { return lease && lease->held(env_.now()); }

  Env& env_;
  Locks& locks_;
  InstanceRegister& instances_;
  Charter charter_;
  Listener listener_;
  std::string overridden_;

  Lease name_;       ///< while we lead
  Lease workspace_;  ///< while we have it
  Lease replica_;    ///< that we live
  PresentTerm present_;
  std::uint64_t version_ = 0;  ///< of the record as we wrote it
  Instant write_at_;           ///< when to write it again
  bool running_ = false;
  bool had_workspace_ = false;  ///< at some time
  bool waits_for_workspace_ = false;
  bool untold_ = false;                                ///< a release did not reach the store
  InstanceEventKind told_ = InstanceEventKind::ended;  ///< the last of leading, following, trouble
  std::string rival_;                                  ///< another run that has our name

  Event wake_;                           ///< the loop: something to look at
  Event loop_ended_;                     ///< for stop()
  std::stop_source campaign_;            ///< ends the present stand in line
  std::stop_source workspace_campaign_;  ///< the same for the workspace
  Nursery nursery_;

  Ending ending_;
  std::stop_source over_;
};

}  // namespace holt
