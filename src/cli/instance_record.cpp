// SPDX-License-Identifier: Apache-2.0
#include "cli/instance_record.hpp"

#include "cli/output.hpp"
#include "cli/text.hpp"

#include <holt/instance.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

using std::chrono::milliseconds;

milliseconds uptime_of(InstanceInfo const& instance) {
  if (instance.status == InstanceStatus::stopped) return {};
  auto const age = std::chrono::system_clock::now() - instance.started_at;
  return std::max(milliseconds(0), std::chrono::floor<milliseconds>(age));
}

Record replica_record(ReplicaInfo const& replica) {
  return {
      {"id", "", replica.id, ""},           {"hostname", "", replica.hostname, ""},
      {"address", "", replica.address, ""}, {"pid", "", replica.pid, ""},
      {"leads", "", replica.leads, ""},
  };
}

}  // namespace

std::string uptime_text(std::chrono::seconds uptime) {
  using namespace std::chrono;
  auto const text = [](auto count, char const* unit) { return std::to_string(count) + unit; };
  auto const whole_days = floor<days>(uptime);
  auto const whole_hours = floor<hours>(uptime);
  auto const whole_minutes = floor<minutes>(uptime);
  if (whole_days.count() > 0) {
    return text(whole_days.count(), "d ") + text((whole_hours - whole_days).count(), "h");
  }
  if (whole_hours.count() > 0) {
    return text(whole_hours.count(), "h ") + text((whole_minutes - whole_hours).count(), "m");
  }
  if (whole_minutes.count() > 0) {
    return text(whole_minutes.count(), "m ") + text((uptime - whole_minutes).count(), "s");
  }
  return text(uptime.count(), "s");
}

Record instance_record(InstanceInfo const& instance) {
  bool const lives = instance.status != InstanceStatus::stopped;
  std::string const status(to_string(instance.status));
  auto const started = timestamp(instance.started_at);
  auto const uptime = uptime_of(instance);
  auto const count = static_cast<std::int64_t>(instance.replicas.size());
  std::string leader;
  std::vector<Record> replicas;
  for (auto const& replica : instance.replicas) {
    if (replica.leads) leader = replica.id;
    replicas.push_back(replica_record(replica));
  }
  auto const place = "pid " + std::to_string(instance.pid) + " on " + printable(instance.hostname);
  return {
      {"name", "name", instance.name, printable(instance.name)},
      {"status", "status", status, status},
      {"trouble", "", instance.trouble, ""},
      {"workspace", "workspace", instance.workspace, printable(instance.workspace)},
      {"started_at", "started", started, started},
      {"uptime_ms", "uptime", std::int64_t{uptime.count()},
       lives ? uptime_text(std::chrono::floor<std::chrono::seconds>(uptime)) : "-"},
      {"replicas", "replicas", count, std::to_string(count)},
      {"leader", "leader", leader, leader.empty() ? "-" : place},
      {"run_id", "", instance.run_id, ""},
      {"pid", "", instance.pid, ""},
      {"hostname", "", instance.hostname, ""},
      {"address", "", instance.address, ""},
      {"fence", "", lives ? instance.fence.padded() : std::string(), ""},
      {"replica_list", "", std::move(replicas), ""},
  };
}

}  // namespace holt::cli
