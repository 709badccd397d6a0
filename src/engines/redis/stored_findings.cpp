// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/stored_findings.hpp"

#include "engines/redis/listing.hpp"
#include "engines/redis/scripting.hpp"
#include "engines/redis/together.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::string_view operation = "diagnose";
constexpr std::uint64_t last_number = 9'007'190'664'806'400;  // as scripts/numbers.lua has it
constexpr std::uint64_t second = 1'000'000;                   // in microseconds
constexpr std::uint64_t ten_years = 10 * 365 * 86'400 * second;
constexpr std::uint32_t most_names = 2000;

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

asio::awaitable<void> read_counter(Servers& servers, std::string key, Counters& counters,
                                   Instant deadline) {
  Reply const reply =
      co_await run_command(servers, key, command("HGET", key, "n"), reading, operation, deadline);
  if (reply->is_nil()) co_return;
  auto const drawn = number_in(reply->text());
  ++counters.used;
  if (!drawn) counters.odd.push_back(key);
  counters.highest = std::max(counters.highest, drawn.value_or(0));
}

asio::awaitable<Counters> read_counters(Servers& servers, Keys const& keys, Instant deadline) {
  Counters counters;
  std::vector<asio::awaitable<void>> reads;
  for (auto const& key : keys.all_counters()) {
    ++counters.all;
    reads.push_back(read_counter(servers, key, counters, deadline));
  }
  co_await together(std::move(reads));
  Reply const time =
      co_await run_command(servers, keys.counter(0), command("TIME"), reading, operation, deadline);
  counters.clock =
      number_in((*time)[0].text()).value_or(0) * second + number_in((*time)[1].text()).value_or(0);
  co_return counters;
}

asio::awaitable<void> look_for_end(Servers& servers, std::string key, LeaseKeys& found,
                                   Instant deadline) {
  Reply const reply =
      co_await run_command(servers, key, command("PTTL", key), reading, operation, deadline);
  if (reply->integer() == -1) found.endless.push_back(std::move(key));
}

asio::awaitable<LeaseKeys> look_for_ends(Servers& servers, Keys const& keys, Instant deadline) {
  std::vector<std::string> lists = keys.all_names();
  NameBatch const batch = co_await list_names(servers, std::move(lists), std::string(),
                                              std::string(), most_names, deadline);
  LeaseKeys found;
  found.looked_at = batch.names.size();
  found.all = batch.last;
  std::vector<asio::awaitable<void>> looks;
  looks.reserve(batch.names.size());
  for (auto const& name : batch.names) {
    looks.push_back(look_for_end(servers, keys.lease(name), found, deadline));
  }
  co_await together(std::move(looks));
  std::ranges::sort(found.endless);
  co_return found;
}

std::string length(std::uint64_t microseconds) {
  auto const minutes = microseconds / second / 60;
  return minutes < 120 ? fmt::format("{} min", minutes) : fmt::format("{} h", minutes / 60);
}

}  // namespace

Finding fence_finding(Counters const& counters) {
  Finding finding{"fences", "Fences", FindingStatus::ok, "none drawn yet", {}};
  if (counters.used == 0) return finding;
  finding.detail = fmt::format("last {}", counters.highest);
  if (counters.all > 1) {
    finding.detail += fmt::format(", in {} of {} shards", counters.used, counters.all);
  }
  if (!counters.odd.empty()) {
    finding.status = FindingStatus::fail;
    finding.detail +=
        fmt::format("; {} holds no number, so nothing is granted there", counters.odd.front());
    finding.fix = "somebody else wrote it: HDEL it (KEY n), then holt doctor --raise-fence";
  } else if (counters.highest > last_number - ten_years) {
    finding.status = FindingStatus::warn;
    finding.detail += fmt::format("; {} is the last that there is", last_number);
    finding.fix = "no clock is so late, so somebody else wrote it: use another instance";
  } else if (counters.highest > counters.clock + second) {
    finding.status = FindingStatus::info;
    finding.detail += fmt::format(
        "; ahead of the server's clock by {}, after a raise: raise again if the server loses its "
        "data before that",
        length(counters.highest - counters.clock));
  }
  return finding;
}

Finding lease_finding(LeaseKeys const& keys) {
  Finding finding{"lease-keys",
                  "Lease keys",
                  FindingStatus::ok,
                  fmt::format("{}{} name{}, each with an end", keys.all ? "" : "the first ",
                              keys.looked_at, keys.looked_at == 1 ? "" : "s"),
                  {}};
  if (keys.endless.empty()) return finding;
  finding.status = FindingStatus::warn;
  finding.detail = fmt::format("{} of {}{} keys without a ttl, as {}; such a lease counts as ended",
                               keys.endless.size(), keys.all ? "" : "the first ", keys.looked_at,
                               keys.endless.front());
  finding.fix = "somebody else wrote them, or ran PERSIST: find out who, and DEL them";
  return finding;
}

asio::awaitable<std::vector<Finding>> stored_findings(Servers& servers, Keys const& keys,
                                                      Instant deadline) {
  std::vector<Finding> findings;
  Counters const counters = co_await read_counters(servers, keys, deadline);
  findings.push_back(fence_finding(counters));
  LeaseKeys const leases = co_await look_for_ends(servers, keys, deadline);
  findings.push_back(lease_finding(leases));
  co_return findings;
}

}  // namespace holt::redis
