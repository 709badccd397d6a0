// SPDX-License-Identifier: Apache-2.0
#include "client/findings.hpp"

#include <holt/open.hpp>

#include <fmt/format.h>

#include <dirent.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace holt::client {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t enough_descriptors = 64;
// A lease is renewed at a third of its ttl: slower calls leave no second try.
constexpr int slow_part = 10;
constexpr int too_slow_part = 3;

std::string in_ms(Nanos time) {
  return fmt::format("{:.2f} ms", std::chrono::duration<double, std::milli>(time).count());
}

std::string in_seconds(milliseconds time) {
  return time.count() % 1000 == 0 ? fmt::format("{} s", time.count() / 1000)
                                  : fmt::format("{} ms", time.count());
}

/// `sorted` must not be empty.
Nanos percentile(std::vector<Nanos> const& sorted, double part) {
  auto const rank = std::ceil(part * static_cast<double>(sorted.size()));
  return sorted[std::min(sorted.size(), static_cast<std::size_t>(rank)) - 1];
}

std::uint64_t open_descriptors() {
  std::unique_ptr<DIR, int (*)(DIR*)> const listing(::opendir("/proc/self/fd"), ::closedir);
  std::uint64_t count = 0;
  while (listing && ::readdir(listing.get()) != nullptr) ++count;
  return count > 3 ? count - 3 : 0;  // ".", ".." and the listing itself
}

}  // namespace

Finding store_opened(std::string const& url) {
  return {"store", "Store", FindingStatus::ok, url, {}};
}

Finding store_refused(EngineError const& error) {
  auto fix = error.hint().empty() ? "try again; if it stays so, choose another store with --store"
                                  : error.hint();
  return {"store", "Store", FindingStatus::fail, error.reason(), std::move(fix)};
}

Finding store_refused(InvalidArgument const& error) {
  return {"store", "Store", FindingStatus::fail, error.what(),
          "give the address of a store: --store sqlite:///path/to/holt.db"};
}

Finding version_finding() {
  return {"version", "Holt", FindingStatus::ok, std::string(version()), {}};
}

Finding instance_finding(std::string_view instance) {
  return {"instance", "Instance", FindingStatus::ok, std::string(instance), {}};
}

Finding instances_finding(std::vector<InstanceInfo> const& instances) {
  auto const stopped =
      std::ranges::count(instances, InstanceStatus::stopped, &InstanceInfo::status);
  auto const live = std::ssize(instances) - stopped;
  auto const limit = InstanceOptions{}.max_instances;
  auto detail = fmt::format("{} alive, {} stopped; an up allows {} unless told otherwise", live,
                            stopped, limit);
  if (live < limit * 3 / 4) {
    return {"instances", "Instances", FindingStatus::ok, std::move(detail), {}};
  }
  return {"instances", "Instances", FindingStatus::warn, std::move(detail),
          "stop those that nobody needs (holt list, holt down --name NAME), or give up a higher "
          "--max-instances"};
}

Finding timeout_finding(milliseconds timeout, milliseconds ttl) {
  auto detail =
      fmt::format("a call gives up after {}; ttl {}", in_seconds(timeout), in_seconds(ttl));
  if (timeout <= ttl) return {"timeout", "Time-out", FindingStatus::ok, std::move(detail), {}};
  return {"timeout", "Time-out", FindingStatus::warn,
          detail + ": an answer may come when the lease is over",
          fmt::format("use a ttl of {} or more, or set OpenOptions::timeout below the ttl",
                      in_seconds(timeout))};
}

Finding descriptors_finding(std::uint64_t limit, std::uint64_t used) {
  auto const left = limit > used ? limit - used : 0;
  auto detail = fmt::format("{} of {} open files used", used, limit);
  if (left >= enough_descriptors) {
    return {"descriptors", "Descriptors", FindingStatus::ok, std::move(detail), {}};
  }
  return {"descriptors", "Descriptors", FindingStatus::warn, std::move(detail),
          "raise the limit of open files: ulimit -n 1024"};
}

Finding descriptors_finding() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return descriptors_finding(limit.rlim_cur, open_descriptors());
}

Finding writable_finding(Measured const& measured) {
  if (!measured.error) {
    return {"writable", "Writable", FindingStatus::ok, "a lease was taken and released", {}};
  }
  auto const& error = *measured.error;
  auto fix =
      error.hint().empty() ? "see the other findings, then run holt doctor again" : error.hint();
  return {"writable", "Writable", FindingStatus::fail, error.reason(), std::move(fix)};
}

Finding latency_finding(std::vector<Nanos> calls, milliseconds ttl,
                        std::optional<milliseconds> shortest) {
  std::ranges::sort(calls);
  auto const p99 = percentile(calls, 0.99);
  auto const judged_by = std::min(ttl, shortest.value_or(ttl));
  auto detail = fmt::format("p50 {}, p90 {}, p99 {}, longest {} of {} calls; ttl {}",
                            in_ms(percentile(calls, 0.5)), in_ms(percentile(calls, 0.9)),
                            in_ms(p99), in_ms(calls.back()), calls.size(), in_seconds(ttl));
  if (shortest) detail += fmt::format(", shortest of those held {}", in_seconds(*shortest));
  if (p99 * slow_part <= judged_by) {
    return {"latency", "Latency", FindingStatus::ok, std::move(detail), {}};
  }
  bool const too_slow = p99 * too_slow_part > judged_by;
  auto const enough = std::chrono::ceil<std::chrono::seconds>(p99 * slow_part);
  return {"latency", "Latency", too_slow ? FindingStatus::fail : FindingStatus::warn,
          std::move(detail),
          fmt::format("use a ttl of {} s or more, or a faster store: leases are renewed at a third "
                      "of their ttl, and a slow answer loses them",
                      enough.count())};
}

}  // namespace holt::client
