// SPDX-License-Identifier: Apache-2.0
#pragma once
// TaskLedger: what the store may have done with tasks, as seen from outside. It judges the store
// alone: added once and never lost; fences of a task grow, and each is of one claim; nobody is
// given what another has, what has ended, or what is not due; only who has the claim hands in, and
// is heard; attempts and unique keys have their limits; a cancel ends in cancelled or comes too
// late.
//
// What a claim takes back is not told to anybody: once a claim can have ended, its tasks may be
// anywhere until they are seen again. So it is after a power cut, and where a request is under way.

#include "contracts/task_store.hpp"
#include "sim/checker.hpp"
#include "support/sim_world.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holt::sim {

class TaskLedger {
 public:
  static constexpr char const* queue = "work";

  struct Job {
    TaskId id;
    std::string key;  ///< empty: none
    Unique scope{};
    Nanos key_until{};
    std::uint32_t max_attempts = 0;
    Nanos known{};  ///< since when
    Nanos due{};    ///< nobody is given it before
    Owner owner;    ///< of the last claim
    Fence fence;
    bool waiting = true;   ///< not in a claim
    bool unsure = false;   ///< may be anywhere
    bool claimed = false;  ///< at some time
    bool cancel_asked = false;
    bool rejected = false;
    int visits = 0;              ///< requests at the store that name it
    std::uint32_t failures = 0;  ///< handed in
    std::uint32_t starts = 0;    ///< of handlers
    std::uint32_t returns = 0;   ///< that cost nothing, as handlers asked
    std::optional<TaskState> end;
    std::set<Fence> accepted;  ///< of what was handed in
  };

  /// A request at the store.
  class Visit {
   public:
    Visit(TaskLedger& ledger, std::vector<Job*> jobs, bool claims);
    ~Visit();
    Visit(Visit const&) = delete;
    Visit& operator=(Visit const&) = delete;
    /// When it reached the store.
    [[nodiscard]] Nanos started() const { return started_; }
    /// From here on its outcome is known.
    void answered();

   private:
    TaskLedger& ledger_;
    std::vector<Job*> jobs_;
    bool claims_;
    bool answered_ = false;
    Nanos started_;
  };

  TaskLedger(World& world, Checker& checker) : world_(world), checker_(checker) {}

  // What the store is asked, and what it answers, in its order. -----------------------------------

  [[nodiscard]] std::unique_ptr<Visit> adding(AddRequest const& request);
  [[nodiscard]] std::unique_ptr<Visit> claiming(ClaimRequest const& request);
  [[nodiscard]] std::unique_ptr<Visit> cancelling(TaskId const& id);
  void added(AddRequest const& request, std::vector<Added> const& answer, Nanos started);
  void claimed(ClaimRequest const& request, Claimed const& answer, Nanos started);
  void renewed(ClaimRenewal const& renewal, std::expected<RenewedClaim, Lost> const& answer,
               Nanos started);
  void cancelled(TaskId const& id, Cancellation answer);
  void power_cut();

  // What others ask of it. ------------------------------------------------------------------------

  /// Payloads of tasks that were certainly not added.
  void never_added(std::string const& payload);
  /// Somebody saw the task at its end.
  void seen(TaskInfo const& info);
  /// All tasks of the queue, read between `started` and now; `adding`: there may be more.
  void audit(std::vector<TaskInfo> const& all, Nanos started, bool adding);
  /// The last audit found nothing unfinished.
  [[nodiscard]] bool settled() const { return settled_; }

  /// Null: never heard of.
  [[nodiscard]] Job* find(TaskId const& id);
  /// The holder trusts this claim until then: nobody else may have been given it.
  void trusted(Job const& job, Owner const& owner, Fence fence, Nanos until);
  /// Claims of this inbox have tasks that nobody has handed in.
  [[nodiscard]] bool holds(std::string_view inbox);
  void violated(std::string what) { checker_.violated(std::move(what)); }

 private:
  /// One exchange, and the claim that came of it.
  struct Batch {
    Fence fence;
    Nanos not_before{};      ///< it ends, at the earliest
    Nanos not_after{};       ///< and at the latest
    bool let_go = false;     ///< named in a give_back
    bool forgotten = false;  ///< said to be answered: asked again it may be another exchange
    std::vector<std::expected<TaskState, Lost>> finishes;
  };

  Job& know(TaskId const& id, std::string const& payload);
  void give(Job& job, Task const& task, ClaimRequest const& request, Fence fence);
  void hand_in(TaskFinish const& finish, std::expected<TaskState, Lost> const& answer,
               Nanos started);
  void accept(Job& job, TaskFinish const& finish, TaskState state, Nanos started);
  void check_repeat(ClaimRequest const& request, Claimed const& answer, Batch const& batch);
  void check_key(Job const& job);
  void end(Job& job, TaskState state);
  /// The claim that it is in cannot have ended.
  [[nodiscard]] bool surely_claimed(Job const& job, int own_visits) const;
  [[nodiscard]] bool surely_waiting(Job const& job, int own_visits) const;

  World& world_;
  Checker& checker_;
  std::map<TaskId, Job> jobs_;
  std::map<std::string, NewTask> orders_;     ///< by payload: what reached the store
  std::map<std::string, TaskId> by_payload_;  ///< what it became
  std::set<std::string> never_added_;
  std::map<RequestId, std::vector<Added>> requests_;
  std::map<std::string, Batch> batches_;  ///< by owner
  std::map<Fence, std::string> fences_;   ///< whose they are
  int claims_under_way_ = 0;
  bool settled_ = false;
};

}  // namespace holt::sim
