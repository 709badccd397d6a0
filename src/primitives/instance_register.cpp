// SPDX-License-Identifier: Apache-2.0
#include "primitives/instance_register.hpp"

#include "base/text_hash.hpp"
#include "contracts/instance_names.hpp"
#include "primitives/event.hpp"
#include "primitives/list_all.hpp"

#include <holt/error.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace holt {
namespace {

using std::chrono::milliseconds;

/// How long a record outlives its last writer, who writes it again every ten minutes.
constexpr std::chrono::hours remembered{1};
/// How long a replica that was stopped may sleep and still find that its run was ended.
constexpr std::chrono::hours end_remembered{24 * 7};
/// Pauses between two looks whether an instance is gone.
constexpr milliseconds first_look{10};
constexpr milliseconds last_look{200};
constexpr milliseconds ask_every{1000};

std::string record_key(std::string_view name) {
  return std::string(instance_record_start).append(name);
}

/// The text as it is, or its hash if it cannot be part of a name without changing.
Name folder_lease(std::string_view start, std::string_view host, std::string_view path) {
  auto const text = std::string(start).append(host).append(path);
  auto const name = Name::parse(text);
  if (name && name->text() == text) return *name;
  return {std::string(start).append(text_hash(std::string(host).append(path)))};
}

void describe(InstanceInfo& info, InstanceNote const& note) {
  info.run_id = note.run_id;
  info.workspace = note.workspace_path;
  info.started_at = read_iso_time(note.started_at);
  info.pid = note.orchestrator_pid;
  info.hostname = note.hostname;
  info.address = note.address;
}

/// What is wrong with an instance whose name is held or offered; empty: nothing.
std::string trouble_of(LeaseInfo const& lease) {
  if (!lease.broken.empty()) return "stopping: " + lease.broken;
  if (lease.offered) return "between two leaders";
  auto const age = lease.ttl - lease.expires_in;
  // A heartbeat comes at half of the ttl at the latest.
  if (age <= lease.ttl * 3 / 4) return {};
  return "no heartbeat for " + std::to_string(age.count()) + " ms";
}

struct Found {
  InstanceInfo info;
  std::string leader;  ///< id of the replica that has the name
};
using AllFound = std::map<std::string, Found, std::less<>>;

Found& entry(AllFound& all, std::string const& name) {
  auto& found = all[name];
  found.info.name = name;
  return found;
}

void add_record(AllFound& all, Record const& record) {
  auto& found = entry(all, record.key.substr(instance_record_start.size()));
  if (auto const note = read_instance_note(record.value)) describe(found.info, *note);
}

void add_name(AllFound& all, LeaseInfo const& lease) {
  auto& found = entry(all, lease.name.text().substr(name_lease_start.size()));
  auto& info = found.info;
  info.fence = lease.fence;
  info.trouble = trouble_of(lease);
  info.status = info.trouble.empty() ? InstanceStatus::running : InstanceStatus::degraded;
  auto const note = read_instance_note(lease.note);
  if (!note) return;
  describe(info, *note);
  if (!lease.offered) found.leader = note->replica;
}

void add_replica(AllFound& all, LeaseInfo const& lease) {
  auto const note = read_instance_note(lease.note);
  if (!note) return;
  auto& [info, leader] = entry(all, note->instance);
  if (info.status == InstanceStatus::stopped) {
    describe(info, *note);
    info.status = InstanceStatus::degraded;
    info.trouble = lease.broken.empty() ? "between two leaders" : "stopping: " + lease.broken;
  }
  if (note->run_id != info.run_id) return;
  info.replicas.push_back({note->replica, note->hostname, note->address, note->orchestrator_pid,
                           note->replica == leader});
}

}  // namespace

std::string_view to_string(InstanceStatus status) noexcept {
  constexpr std::array<std::string_view, 3> words{"running", "degraded", "stopped"};
  return words.at(static_cast<std::size_t>(status));
}

std::string_view to_string(DownResult result) noexcept {
  constexpr std::array<std::string_view, 4> words{"stopped", "cleaned", "late", "not_found"};
  return words.at(static_cast<std::size_t>(result));
}

Name name_lease(std::string_view instance) {
  return {std::string(name_lease_start).append(instance)};
}

Name replica_lease(std::string_view instance, std::string_view replica) {
  return {std::string(replica_lease_start).append(instance).append("/").append(replica)};
}

Name workspace_lease(std::string_view host, std::string_view path) {
  return folder_lease(workspace_lease_start, host, path);
}

Name up_lease(std::string_view host, std::string_view path) {
  return folder_lease(up_lease_start, host, path);
}

asio::awaitable<std::vector<InstanceInfo>> InstanceRegister::list() {
  // Records first: who comes up meanwhile is seen by its lease, who goes is shown as stopped.
  std::vector<Record> const records =
      co_await list_all(records_, std::string(instance_record_start), soon());
  std::vector<LeaseInfo> const names =
      co_await list_all(leases_, std::string(name_lease_start), soon());
  std::vector<LeaseInfo> const replicas =
      co_await list_all(leases_, std::string(replica_lease_start), soon());
  AllFound all;
  for (auto const& record : records) add_record(all, record);
  for (auto const& lease : names) add_name(all, lease);
  for (auto const& lease : replicas) add_replica(all, lease);
  std::vector<InstanceInfo> found;
  found.reserve(all.size());
  for (auto& [name, one] : all) found.push_back(std::move(one.info));
  co_return found;
}

asio::awaitable<std::optional<InstanceInfo>> InstanceRegister::find(std::string name) {
  std::optional<Record> const record = co_await records_.get(record_key(name), soon());
  std::optional<LeaseInfo> const lease = co_await leases_.find(name_lease(name), soon());
  std::vector<LeaseInfo> const replicas =
      co_await list_all(leases_, replica_lease(name, "").text(), soon());
  AllFound all;
  if (record) add_record(all, *record);
  if (lease) add_name(all, *lease);
  for (auto const& replica : replicas) add_replica(all, replica);
  std::optional<InstanceInfo> found;
  if (!all.empty()) found = std::move(all.begin()->second.info);
  co_return found;
}

asio::awaitable<bool> InstanceRegister::has(std::uint32_t instances) {
  LeasePage const page =
      co_await leases_.list(std::string(name_lease_start), {}, instances, soon());
  co_return page.leases.size() >= instances;
}

asio::awaitable<InstanceRegister::Holder> InstanceRegister::holder_of(Name lease) {
  std::optional<LeaseInfo> const found = co_await leases_.find(std::move(lease), soon());
  Holder holder;
  holder.lives = found.has_value();
  if (found) holder.note = read_instance_note(found->note);
  co_return holder;
}

asio::awaitable<std::int64_t> InstanceRegister::next_number() {
  co_return co_await records_.add(std::string(instance_counter), 1, soon());
}

asio::awaitable<std::optional<std::string>> InstanceRegister::why_ended(std::string run_id) {
  std::optional<Record> const record =
      co_await records_.get(std::string(ended_record_start).append(run_id), soon());
  std::optional<std::string> why;
  if (record) why = record->value;
  co_return why;
}

asio::awaitable<std::expected<std::uint64_t, std::uint64_t>> InstanceRegister::write(
    InstanceNote note, std::uint64_t version) {
  RecordWrite record(record_key(note.instance), note.metadata());
  record.expected = version;
  record.ttl = remembered;
  std::expected<std::uint64_t, Conflict> const written =
      co_await records_.put(std::move(record), soon());
  if (written) co_return *written;
  auto const& current = written.error().current;
  co_return std::unexpected(current ? current->version : 0);
}

asio::awaitable<void> InstanceRegister::erase(std::string name, std::uint64_t version) {
  [[maybe_unused]] std::expected<bool, Conflict> const gone =
      co_await records_.erase(record_key(name), version, soon());
}

asio::awaitable<void> InstanceRegister::clean(std::string host, std::string path) {
  std::vector<Record> const records =
      co_await list_all(records_, std::string(instance_record_start), soon());
  for (auto const& record : records) {
    auto const note = read_instance_note(record.value);
    if (!note || note->hostname != host || note->workspace_path != path) continue;
    auto const name = record.key.substr(instance_record_start.size());
    std::optional<LeaseInfo> const lives = co_await leases_.find(name_lease(name), soon());
    if (!lives) co_await erase(name, record.version);
  }
}

asio::awaitable<DownResult> InstanceRegister::down(std::string name, std::string reason,
                                                   DownOptions options) {
  auto const until = env_.now() + options.deadline;
  std::optional<InstanceInfo> const found = co_await find(name);
  if (!found) co_return DownResult::not_found;
  // Also if nobody lives: one that was stopped for a while must not come back afterwards.
  RecordWrite ended(std::string(ended_record_start).append(found->run_id), reason);
  ended.ttl = end_remembered;
  [[maybe_unused]] auto const marked = co_await records_.put(std::move(ended), soon());
  Event pause(env_);
  auto ask_at = env_.now();
  for (auto look = first_look;; look = std::min(look * 2, last_look)) {
    if (env_.now() >= ask_at) {  // again now and then: who is asked may not have heard it
      co_await ask_to_stop(name, found->run_id, reason, options.force);
      ask_at = env_.now() + ask_every;
    }
    bool const gone = co_await is_gone(name, found->run_id);
    if (gone) break;
    if (env_.now() >= until) co_return DownResult::late;
    [[maybe_unused]] bool const woken =
        co_await pause.wait_until(std::min(until, env_.now() + look));
  }
  co_await forget(name, found->run_id);
  bool const lived = found->status != InstanceStatus::stopped;
  co_return lived ? DownResult::stopped : DownResult::cleaned;
}

/// Breaks each lease of the run; with `now` they are freed, and the workspace too.
asio::awaitable<void> InstanceRegister::ask_to_stop(std::string name, std::string run_id,
                                                    std::string reason, bool now) {
  std::vector<LeaseInfo> leases =
      co_await list_all(leases_, replica_lease(name, "").text(), soon());
  std::optional<LeaseInfo> holder = co_await leases_.find(name_lease(name), soon());
  if (holder) leases.push_back(std::move(*holder));
  if (now && !leases.empty()) {
    auto const note = read_instance_note(leases.back().note);
    auto const folder =
        note ? std::optional(workspace_lease(note->hostname, note->workspace_path)) : std::nullopt;
    std::optional<LeaseInfo> workspace;
    if (folder) workspace = co_await leases_.find(*folder, soon());
    if (workspace) leases.push_back(std::move(*workspace));
  }
  for (auto const& lease : leases) {
    auto const note = read_instance_note(lease.note);
    if (note && note->run_id != run_id) continue;
    BreakRequest request(lease.name, reason);
    request.fence = lease.fence;
    request.now = now;
    [[maybe_unused]] auto const how = co_await leases_.break_lease(std::move(request), soon());
  }
}

/// Its replicas have been told, and find the run ended before they take the name again; one that
/// died is not waited for.
asio::awaitable<bool> InstanceRegister::is_gone(std::string name, std::string run_id) {
  Holder const holder = co_await holder_of(name_lease(name));
  co_return !holder.lives || (holder.note && holder.note->run_id != run_id);
}

/// The record, unless it is of another run by now.
asio::awaitable<void> InstanceRegister::forget(std::string name, std::string run_id) {
  std::optional<Record> const record = co_await records_.get(record_key(name), soon());
  if (!record) co_return;
  auto const note = read_instance_note(record->value);
  if (!note || note->run_id == run_id) co_await erase(std::move(name), record->version);
}

}  // namespace holt
