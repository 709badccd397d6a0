// SPDX-License-Identifier: Apache-2.0
#pragma once
// Landlord: sees all replicas of all nodes and all that is written of them, in true time, and
// judges: one leader of a name; one claim of a workspace; a number is handed out once; whoever was
// ended never leads again; nobody touches the record of who leads; who is refused was in somebody's
// way, and leaves nothing. The names' leases are judged by the checker, who is told of each term.
//
// What `down --force` has freed is excused, as documented.

#include "primitives/replica.hpp"
#include "sim/checker.hpp"
#include "sim/client.hpp"
#include "sim/options.hpp"
#include "support/sim_env.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holt::sim {

class Landlord {
 public:
  Landlord(World& world, Options const& options, Checker& checker, Phase& phase)
      : world_(world), options_(options), checker_(checker), phase_(phase) {}

  /// Answers what is left in the store of a replica of this id; empty: nothing.
  void inspect_with(std::function<std::string(std::string const&)> left_of) {
    left_of_ = std::move(left_of);
  }

  // Replicas. -------------------------------------------------------------------------------------

  /// Never the same twice.
  [[nodiscard]] std::int64_t next_pid() { return ++last_pid_; }
  [[nodiscard]] std::int64_t last_number() const { return last_number_; }

  /// It is about to come up; `numbered` if it asks for no name.
  void arrives(SimEnv& env, Replica const& replica, bool numbered);
  void is_up(Replica const& replica);
  /// It was told that it stands in line behind another replica of its run.
  void follows(Replica const& replica);
  void is_refused(Replica const& replica, InstanceRefused const& refusal);
  /// Its process is killed, perhaps in the middle of coming up; nobody may hear that it departs.
  void dies(Replica const& replica);
  /// Nothing of it runs any more; `well`: and the store was told.
  void departs(Replica const& replica, bool well);

  /// This node ends an instance; it was answered. Not answered: the second call never comes.
  void ending(SimEnv const& env, std::string name);
  void ended(SimEnv const& env, DownResult answer, bool force);

  // What the store has done, in its order. --------------------------------------------------------

  void wrote(SimEnv const& by, std::string const& key, std::string const& value);
  void erased(SimEnv const& by, std::string const& key);
  void drew(std::int64_t number);
  void power_cut();

  // Judgement. ------------------------------------------------------------------------------------

  void after_event();
  /// This record is still there when all have gone.
  void left(std::string const& key, std::string const& value);

 private:
  struct Tenant {
    SimEnv* env;
    Replica const* replica;
    bool numbered;
    Nanos began;
    bool safe;                         ///< nothing fails in its time, nor did before
    std::shared_ptr<KeptLease> first;  ///< the term it came up with; none: it joined
    std::shared_ptr<KeptLease> term;   ///< the last one seen
    std::shared_ptr<bool> working;     ///< in it
    bool claimed = false;              ///< the workspace, with the first term
    bool in_line = false;              ///< behind another replica of its run
  };
  struct Past {
    InstanceNote about;
    std::optional<Nanos> gone;  ///< since when the store knows
  };
  struct Written {
    std::string run;
    std::int64_t pid = 0;
    Fence term;  ///< in which its writer led
  };
  struct Errand {
    std::string name;
    std::set<std::string> runs;  ///< that it has ended so far
  };

  Tenant& find(Replica const& replica);
  void remember();
  void look_at(Tenant& tenant);
  void begin(Tenant& tenant, std::shared_ptr<KeptLease> lease);
  void check_successor(Tenant const& tenant) const;
  void check_alone(Tenant const& tenant) const;
  void check_nothing_left(Replica const& replica);
  void check_forgotten(std::string const& run);
  [[nodiscard]] bool leads(Tenant const& tenant) const;
  [[nodiscard]] Tenant const* leader_of(std::string_view name) const;
  /// The record is what its present leader wrote in this term.
  [[nodiscard]] bool is_of(std::string const& key, Tenant const& leader) const;
  [[nodiscard]] bool explains(Past const& past, Tenant const& tenant,
                              InstanceRefused const& refusal) const;

  World& world_;
  Options const& options_;
  Checker& checker_;
  Phase& phase_;
  std::function<std::string(std::string const&)> left_of_;
  std::vector<Tenant> tenants_;
  std::map<std::int64_t, Past> history_;    ///< of all there ever were, by pid
  std::map<std::string, Written> written_;  ///< the records, by key
  std::map<NodeId, Errand> errands_;
  std::map<std::string, Fence> over_;  ///< runs that were ended, and the last term they may have
  std::set<std::string> untidy_;       ///< runs that may leave their record
  std::set<std::int64_t> drawn_;
  std::set<std::string> handed_out_;  ///< default-N
  std::int64_t last_pid_ = 0;
  std::int64_t last_number_ = 0;
};

}  // namespace holt::sim
