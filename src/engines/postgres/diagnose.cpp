// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/diagnose.hpp"

#include "engines/postgres/diagnose_reads.hpp"
#include "engines/postgres/schema.hpp"
#include "postgres_sql.hpp"

#include <holt/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <utility>

namespace holt::postgres {
namespace {

using enum FindingStatus;

// The columns of sql/diagnose.sql.
enum Column {
  version_column,
  time_column,
  role_column,
  superuser_column,
  system_column,
  timeline_column,
  fsync_column,
  commit_column,
  standby_names_column,
  streaming_column,
  synchronous_column,
  max_connections_column,
  connections_column,
  oldest_column,
  sees_all_column
};

Finding version(Answer const& facts) {
  return {"server-version",
          "Server",
          ok,
          fmt::format("PostgreSQL {}", facts.text(0, version_column)),
          {}};
}

Finding role(Answer const& facts) {
  auto const name = facts.text(0, role_column);
  Finding finding{"role", "Role", ok, fmt::format("{}", name), {}};
  if (facts.flag(0, superuser_column)) {
    finding.status = warn;
    finding.detail += ", a superuser: whoever gets its password has the whole server";
    finding.fix = "use a role with the rights of src/engines/postgres/roles.example.sql";
  }
  return finding;
}

Finding timeline(Answer const& facts) {
  return {
      "timeline",
      "Timeline",
      ok,
      fmt::format("{} of system {}: fences jump by 2^32 when it changes",
                  std::strtoul(std::string(facts.text(0, timeline_column)).c_str(), nullptr, 16),
                  facts.text(0, system_column)),
      {}};
}

Finding replication(Answer const& facts) {
  auto const names = facts.text(0, standby_names_column);
  auto detail = fmt::format("primary, synchronous_commit {}, synchronous_standby_names '{}'",
                            facts.text(0, commit_column), names);
  if (facts.flag(0, sees_all_column)) {
    detail += fmt::format(", {} streaming, {} synchronous", facts.integer(0, streaming_column),
                          facts.integer(0, synchronous_column));
  }
  return {"replication", "Replication", ok, std::move(detail), {}};
}

Finding durability(Answer const& facts) {
  auto const commit = facts.text(0, commit_column);
  bool const waits =
      !facts.text(0, standby_names_column).empty() && (commit == "on" || commit == "remote_apply");
  if (facts.text(0, fsync_column) != "on" || commit == "off") {
    return {"durability", "Durability", warn,
            "less than single: the server answers before its disk has what it wrote",
            "set fsync and synchronous_commit to on, for this role at least"};
  }
  if (!waits) {
    return {"durability",
            "Durability",
            info,
            "single: what the primary's disk has. A standby that is promoted may lack the last "
            "grants; fences grow all the same",
            {}};
  }
  Finding finding{"durability",
                  "Durability",
                  ok,
                  "pg-sync: what a synchronous standby has. Kept when one of those is promoted",
                  {}};
  if (facts.flag(0, sees_all_column) && facts.integer(0, synchronous_column) == 0) {
    finding.status = fail;
    finding.detail += "; none is connected, so no commit ends";
    finding.fix = "connect a standby that synchronous_standby_names names";
  }
  return finding;
}

Finding clock(Env& env, Answer const& facts) {
  auto const here =
      std::chrono::duration_cast<std::chrono::microseconds>(env.wall().time_since_epoch()).count();
  auto const apart_ms = std::llabs(facts.integer(0, time_column) - here) / 1000;
  Finding finding{"server-clock",
                  "Server's clock",
                  ok,
                  fmt::format("{} ms apart from ours; it alone decides", apart_ms),
                  {}};
  constexpr std::int64_t noticeable_ms = 5000;
  if (apart_ms > noticeable_ms) {
    finding.status = warn;
    finding.fix =
        "set both clocks by NTP: a server whose clock is then set ends or prolongs leases";
  }
  return finding;
}

Finding connections(Answer const& facts, Place const& place) {
  auto const used = facts.integer(0, connections_column);
  auto const most = facts.integer(0, max_connections_column);
  Finding finding{"connections",
                  "Connections",
                  ok,
                  fmt::format("{} of {} in use; this client may use {}", used, most,
                              place.pool.max + (place.listens ? 1 : 0)),
                  {}};
  if (used + place.pool.max >= most) {
    finding.status = warn;
    finding.fix = "raise max_connections, lower pool_max, or put PgBouncer in between";
  }
  return finding;
}

Finding old_transactions(Answer const& facts) {
  auto const age = facts.integer(0, oldest_column);
  Finding finding{"transactions", "Oldest transaction", ok, fmt::format("{} s", age), {}};
  constexpr std::int64_t long_s = 600;
  if (age > long_s) {
    finding.status = warn;
    finding.detail += ": nothing that ended since can be vacuumed";
    finding.fix = "find it in pg_stat_activity (xact_start) and end it";
  }
  return finding;
}

/// A table is bloated when it has many more dead rows than living ones.
Finding tables(Answer const& rows) {
  Finding finding{"tables", "Tables", ok, {}, {}};
  for (int row = 0; row < rows.rows(); ++row) {
    auto const live = rows.integer(row, 1);
    auto const dead = rows.integer(row, 2);
    auto const updates = rows.integer(row, 4);
    finding.detail +=
        fmt::format("{}{}: {} rows, {} dead, {} kB", finding.detail.empty() ? "" : "; ",
                    rows.text(row, 0), live, dead, rows.integer(row, 3) / 1024);
    if (updates > 0) {
      finding.detail +=
          fmt::format(", {} % updated in place", rows.integer(row, 5) * 100 / updates);
    }
    if (!rows.is_null(row, 6)) {
      finding.detail += fmt::format(", vacuumed {} s ago", rows.integer(row, 6));
    }
    constexpr std::int64_t many = 100'000;
    if (dead > many && dead > live * 2) {
      finding.status = warn;
      finding.fix =
          "is autovacuum on, and does it get to run? An old transaction keeps it from cleaning up";
    }
  }
  if (finding.detail.empty()) finding.detail = "no statistics yet";
  return finding;
}

Finding wake_up(Place const& place, std::string const& deafness) {
  if (!place.listens) {
    return {"wake-up",
            "Wake-up",
            info,
            "listen=none: who waits asks again by the clock, up to 1 s late",
            {}};
  }
  if (deafness.empty()) return {"wake-up", "Wake-up", ok, "notifications arrive", {}};
  return {"wake-up", "Wake-up", warn, deafness + "; who waits asks by the clock, up to 1 s late",
          "name the server itself with listen=host:port in the store's address"};
}

asio::awaitable<std::vector<Finding>> ask(Env& env, Place const& place, Pool& pool, Pool* reads,
                                          PostgresSignalBus& signals, Instant deadline) {
  std::vector<Finding> findings;
  Answer const facts = co_await pool.call(statement(std::string(sql::diagnose)), Parameters(),
                                          Effect::reads, "diagnose", deadline);
  Parameters schema;
  schema.add(place.schema);
  Answer const rows = co_await pool.call(statement(std::string(sql::diagnose_tables)),
                                         std::move(schema), Effect::reads, "diagnose", deadline);
  auto const meta_text = statement(in_schema(sql::meta_read, place.schema));
  Answer const meta =
      co_await pool.call(meta_text, Parameters(), Effect::reads, "diagnose", deadline);
  if (place.listens) {
    [[maybe_unused]] bool const hears = co_await signals.reachable(deadline);
  }
  std::optional<Finding> read_store;
  if (reads != nullptr) {
    std::string const system(facts.text(0, system_column));
    read_store = co_await diagnose_reads(place, pool, *reads, system, deadline);
  }
  findings.push_back(version(facts));
  findings.push_back({"schema",
                      "Schema",
                      ok,
                      fmt::format("{}, version {}; this program knows {}", place.schema,
                                  meta.integer(0, 0), newest_version()),
                      {}});
  findings.push_back(role(facts));
  findings.push_back(replication(facts));
  findings.push_back(timeline(facts));
  findings.push_back(clock(env, facts));
  findings.push_back(connections(facts, place));
  findings.push_back(old_transactions(facts));
  findings.push_back(tables(rows));
  if (read_store) findings.push_back(std::move(*read_store));
  findings.push_back(wake_up(place, signals.deafness()));
  findings.push_back(durability(facts));
  co_return findings;
}

}  // namespace

asio::awaitable<std::vector<Finding>> diagnose(Env& env, Place const& place, Pool& pool,
                                               Pool* reads, PostgresSignalBus& signals,
                                               std::chrono::nanoseconds patience) {
  std::vector<Finding> findings;
  std::string trouble;
  try {
    // The pool belongs to the loop.
    findings = co_await asio::co_spawn(env.executor(),
                                       ask(env, place, pool, reads, signals, env.now() + patience),
                                       asio::use_awaitable);
  } catch (EngineError const& error) {
    trouble = error.what();
  }
  if (!trouble.empty()) {
    findings.push_back(
        {"server-version", "Server", fail, trouble, "is the server up and reachable?"});
    findings.push_back(
        {"durability", "Durability", info, "not known: the server does not answer", {}});
  }
  co_return findings;
}

}  // namespace holt::postgres
