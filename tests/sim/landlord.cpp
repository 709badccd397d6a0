// SPDX-License-Identifier: Apache-2.0
#include "sim/landlord.hpp"

#include "base/check.hpp"
#include "contracts/instance_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holt::sim {
namespace {

bool same_folder(InstanceNote const& a, InstanceNote const& b) {
  return a.hostname == b.hostname && a.workspace_path == b.workspace_path;
}

}  // namespace

Landlord::Tenant& Landlord::find(Replica const& replica) {
  auto const found = std::ranges::find(tenants_, &replica, &Tenant::replica);
  HOLT_CHECK(found != tenants_.end());
  return *found;
}

void Landlord::arrives(SimEnv& env, Replica const& replica, bool numbered) {
  bool const safe = options_.calm || phase_.healed;
  tenants_.push_back({&env, &replica, numbered, world_.now(), safe, nullptr, nullptr, nullptr});
  history_[replica.about().orchestrator_pid] = {replica.about(), std::nullopt};
}

void Landlord::is_up(Replica const& replica) {
  auto& tenant = find(replica);
  auto const& about = replica.about();
  tenant.claimed = tenant.first && replica.overridden().empty();
  if (!tenant.safe) untidy_.insert(about.run_id);
  if (!tenant.numbered) return;
  auto const number = std::stoll(about.instance.substr(about.instance.rfind('-') + 1));
  if (!drawn_.contains(number)) checker_.violated(about.instance + " has a number nobody drew");
  if (!handed_out_.insert(about.instance).second) {
    checker_.violated(about.instance + " is handed to two runs");
  }
}

void Landlord::follows(Replica const& replica) {
  auto const found = std::ranges::find(tenants_, &replica, &Tenant::replica);
  if (found != tenants_.end()) found->in_line = !replica.leading();
}

void Landlord::is_refused(Replica const& replica, InstanceRefused const& refusal) {
  using enum InstanceRefused::Why;
  auto const& tenant = find(replica);
  remember();
  bool const explained = std::ranges::any_of(
      history_, [&](auto const& past) { return explains(past.second, tenant, refusal); });
  bool const named = refusal.why == name_taken || refusal.why == workspace_taken;
  if (!named && refusal.why != ending) checker_.violated("there is room, and there are numbers");
  if (named && !explained) {
    checker_.violated(fmt::format("who is refused was in somebody's way: {} in {} of {}, by \"{}\"",
                                  refusal.name, refusal.workspace, replica.about().hostname,
                                  refusal.by));
  }
  check_nothing_left(replica);
}

/// The names that those who come up ask for may be new.
void Landlord::remember() {
  for (auto const& tenant : tenants_) {
    auto const& about = tenant.replica->about();
    history_[about.orchestrator_pid].about = about;
  }
}

/// Another one that was there at some time while it came up.
bool Landlord::explains(Past const& past, Tenant const& tenant,
                        InstanceRefused const& refusal) const {
  auto const& about = tenant.replica->about();
  if (past.about.orchestrator_pid == about.orchestrator_pid) return false;
  if (past.gone && *past.gone < tenant.began) return false;
  if (refusal.why == InstanceRefused::Why::workspace_taken) {
    return past.about.instance == refusal.by && same_folder(past.about, about);
  }
  return past.about.instance == about.instance &&
         refusal.by ==
             fmt::format("{}, process {}", past.about.hostname, past.about.orchestrator_pid);
}

void Landlord::dies(Replica const& replica) { untidy_.insert(replica.about().run_id); }

void Landlord::departs(Replica const& replica, bool well) {
  auto const found = std::ranges::find(tenants_, &replica, &Tenant::replica);
  if (found == tenants_.end()) return;  // its power was cut
  remember();
  auto const& about = replica.about();
  if (well) check_nothing_left(replica);
  if (well && found->safe) history_[about.orchestrator_pid].gone = world_.now();
  if (!well) untidy_.insert(about.run_id);
  look_at(*found);
  tenants_.erase(found);
}

/// Where nothing fails, at once; else the leases end by themselves.
void Landlord::check_nothing_left(Replica const& replica) {
  if (!options_.calm || phase_.ending) return;
  auto const left = left_of_(replica.about().replica);
  if (!left.empty()) checker_.violated("a replica that has gone leaves nothing: " + left);
}

void Landlord::ending(SimEnv const& env, std::string name) {
  errands_[env.node()] = {std::move(name), {}};
}

void Landlord::ended(SimEnv const& env, DownResult answer, bool force) {
  auto const errand = std::exchange(errands_[env.node()], {});
  bool const freed = force && answer == DownResult::stopped;
  bool const over = answer == DownResult::stopped || answer == DownResult::cleaned;
  for (auto const& run : errand.runs) {
    if (freed || !over) untidy_.insert(run);
    if (!over) continue;
    if (options_.calm && !force) check_forgotten(run);
    auto& last = over_[run];
    for (auto const& tenant : tenants_) {
      if (!freed || tenant.replica->about().run_id != run) continue;
      if (auto const lease = tenant.replica->leading()) last = std::max(last, lease->fence());
    }
  }
}

void Landlord::check_forgotten(std::string const& run) {
  bool const there =
      std::ranges::any_of(written_, [&](auto const& record) { return record.second.run == run; });
  if (there) checker_.violated("who ends a run takes its record away: " + run);
}

void Landlord::wrote(SimEnv const& by, std::string const& key, std::string const& value) {
  if (key.starts_with(ended_record_start)) {
    errands_[by.node()].runs.insert(key.substr(ended_record_start.size()));
    untidy_.insert(key.substr(ended_record_start.size()));
    return;
  }
  auto const note = read_instance_note(value);
  if (!note) {
    checker_.violated("a record says whose it is: " + value);
    return;
  }
  auto const* const leader = leader_of(key.substr(instance_record_start.size()));
  bool const own = leader && leader->replica->about().orchestrator_pid == note->orchestrator_pid;
  if (leader && !own && is_of(key, *leader)) {
    checker_.violated(fmt::format("who does not lead writes over no successor: {} by process {}",
                                  key, note->orchestrator_pid));
  }
  written_[key] = {note->run_id, note->orchestrator_pid,
                   own ? leader->replica->leading()->fence() : Fence()};
}

void Landlord::erased(SimEnv const& by, std::string const& key) {
  if (!key.starts_with(instance_record_start)) return;
  auto const name = key.substr(instance_record_start.size());
  auto const* const leader = leader_of(name);
  if (leader && is_of(key, *leader)) checker_.violated(key + " is erased while its writer leads");
  auto& errand = errands_[by.node()];
  if (errand.name == name) errand.runs.insert(written_[key].run);
  written_.erase(key);
}

bool Landlord::is_of(std::string const& key, Tenant const& leader) const {
  auto const found = written_.find(key);
  if (found == written_.end()) return false;
  auto const& [run, pid, term] = found->second;
  auto const& about = leader.replica->about();
  return pid == about.orchestrator_pid && term == leader.replica->leading()->fence();
}

void Landlord::drew(std::int64_t number) {
  if (!drawn_.insert(number).second || number < last_number_) {
    checker_.violated(fmt::format("the counter only grows: {} after {}", number, last_number_));
  }
  last_number_ = number;
}

/// Records that end by themselves do so with the boot; so does every process.
void Landlord::power_cut() {
  for (auto const& tenant : tenants_) {
    history_[tenant.replica->about().orchestrator_pid].gone = world_.now();
  }
  tenants_.clear();
  written_.clear();
  errands_.clear();
  over_.clear();
}

bool Landlord::leads(Tenant const& tenant) const {
  auto const lease = tenant.replica->leading();
  return lease && !checker_.excused(lease->name(), lease->fence());
}

Landlord::Tenant const* Landlord::leader_of(std::string_view name) const {
  auto const found = std::ranges::find_if(tenants_, [&](Tenant const& tenant) {
    return tenant.replica->about().instance == name && leads(tenant);
  });
  return found == tenants_.end() ? nullptr : &*found;
}

void Landlord::after_event() {
  for (auto& tenant : tenants_) look_at(tenant);
  for (auto const& tenant : tenants_) {
    if (leads(tenant)) check_alone(tenant);
  }
}

void Landlord::look_at(Tenant& tenant) {
  auto lease = tenant.replica->leading();
  if (lease && lease != tenant.term) begin(tenant, lease);
  if (!tenant.term) return;
  *tenant.working = lease != nullptr;
  if (tenant.replica->ending().how() != InstanceEnd::none) checker_.lets_go(*tenant.term);
  auto const over = over_.find(tenant.replica->about().run_id);
  if (!lease || over == over_.end() || lease->fence() <= over->second) return;
  if (checker_.excused(lease->name(), lease->fence())) return;
  checker_.violated(fmt::format("a run that was ended never leads again: {} of {}, fence {}",
                                lease->name().text(), world_.name(tenant.env->node()),
                                lease->fence().value()));
}

void Landlord::begin(Tenant& tenant, std::shared_ptr<KeptLease> lease) {
  if (tenant.term && lease->fence() <= tenant.term->fence()) checker_.violated("terms grow");
  if (tenant.working) *tenant.working = false;
  if (!tenant.term) tenant.first = lease;
  tenant.term = lease;
  tenant.in_line = false;
  if (options_.calm) check_successor(tenant);
  tenant.working = std::make_shared<bool>(true);
  checker_.holds(*tenant.env, lease, true);
  checker_.works(lease->owner(), tenant.working);
}

/// Where nothing fails, a name goes to who stands in line, and to no stranger.
void Landlord::check_successor(Tenant const& tenant) const {
  auto const& about = tenant.replica->about();
  for (auto const& other : tenants_) {
    auto const& waits = other.replica->about();
    bool const goes_on = other.in_line && other.replica->ending().how() == InstanceEnd::none &&
                         !untidy_.contains(waits.run_id);
    if (!goes_on || waits.instance != about.instance || waits.run_id == about.run_id) continue;
    checker_.violated("no stranger takes the name of a run that lives: " + about.instance);
  }
}

/// The checker sees leases; this sees what is made of them.
void Landlord::check_alone(Tenant const& tenant) const {
  auto const& about = tenant.replica->about();
  for (auto const& other : tenants_) {
    if (&other == &tenant || !leads(other)) continue;
    if (other.replica->about().instance == about.instance) {
      checker_.violated("one leader of a name: two lead " + about.instance);
    }
    bool const both =
        tenant.claimed && tenant.first == tenant.term && other.claimed && other.first == other.term;
    if (both && same_folder(about, other.replica->about())) {
      checker_.violated(fmt::format("one owner of a workspace: {} and {} both claimed {} of {}",
                                    about.instance, other.replica->about().instance,
                                    about.workspace_path, about.hostname));
    }
  }
}

void Landlord::left(std::string const& key, std::string const& value) {
  auto const note = read_instance_note(value);
  if (note && untidy_.contains(note->run_id)) return;
  checker_.violated("the record of a run that ended well is gone: " + key);
}

}  // namespace holt::sim
