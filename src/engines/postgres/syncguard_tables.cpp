// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/syncguard_tables.hpp"

#include "base/syncguard.hpp"
#include "engines/postgres/errors.hpp"
#include "postgres_sql.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace holt::postgres {
namespace {

using enum FindingStatus;

// The columns of sql/syncguard_tables.sql.
enum Column { table_column, lacks_column, keys_column, ids_column, path_column };

Parameters names_of(SyncguardOptions const& options) {
  Parameters parameters;
  parameters.add(options.locks).add(options.counters);
  return parameters;
}

[[noreturn]] void refuse(std::string const& why) {
  throw failed(ErrorCode::invalid_argument, Outcome::not_applied, "open", why,
               "is it the fleet's database, are table_name= and fence_table_name= right? The fleet "
               "makes its tables with setupSchema(), syncguard.example.sql makes the same");
}

void check(Answer const& tables, int row, std::string_view name, std::string_view key) {
  if (tables.is_null(row, table_column)) {
    refuse(fmt::format("there is no table \"{}\" (search_path {})", name,
                       tables.text(row, path_column)));
  }
  if (auto const lacks = tables.text(row, lacks_column); !lacks.empty()) {
    refuse(fmt::format("the table \"{}\" is not SyncGuard's: it lacks {}", name, lacks));
  }
  if (!tables.flag(row, keys_column)) {
    refuse(
        fmt::format("the table \"{}\" is not SyncGuard's: {} is not its primary key", name, key));
  }
}

Statement on_tables(std::string_view text, Place const& place) {
  return statement(in_tables(text, place));
}

Finding layout_finding(Place const& place, Answer const& tables, Answer const& state) {
  auto const locks = state.integer(0, 0);
  auto const ended = state.integer(0, 1);
  auto const highest =
      Fence(static_cast<std::uint64_t>(std::max<std::int64_t>(state.integer(0, 3), 0)));
  Finding finding{
      "layout",
      "Layout",
      info,
      fmt::format("{}, tables {} ({} locks, {} of them ended) and {} ({} counters, the highest at "
                  "{}): a counter for each name, no line, no notes",
                  place.syncguard.layout, tables.text(0, table_column), locks, ended,
                  tables.text(1, table_column), state.integer(0, 2), highest.decimal()),
      {}};
  constexpr std::int64_t many = 100'000;
  if (highest > syncguard_fences.warn_above) {
    finding.status = warn;
    finding.fix = fmt::format("change the name of that lock before its counter reaches {}",
                              syncguard_fences.last.decimal());
  } else if (!tables.flag(0, ids_column)) {
    finding.status = warn;
    finding.detail += "; lock_id has no unique index, so the fleet's releases read the whole table";
    finding.fix = "make a unique index on lock_id, as syncguard.example.sql has it";
  } else if (ended > many) {
    finding.status = warn;
    finding.fix = "nobody sweeps them: delete rows of it whose expires_at_ms is long past";
  }
  return finding;
}

asio::awaitable<Finding> ask(Place const& place, Pool& pool, Instant deadline) {
  Answer const tables =
      co_await pool.call(on_tables(sql::syncguard_tables, place), names_of(place.syncguard),
                         Effect::reads, "diagnose", deadline);
  Answer const state = co_await pool.call(on_tables(sql::syncguard_state, place), Parameters(),
                                          Effect::reads, "diagnose", deadline);
  co_return layout_finding(place, tables, state);
}

/// What differs from the native layout.
void correct(Finding& finding) {
  if (finding.id == "durability" && finding.detail.starts_with("single")) {
    finding.detail =
        "single: what the primary's disk has. A standby that is promoted may lack the last grants, "
        "and its counters take fences back";
  } else if (finding.id == "timeline") {
    finding.detail = finding.detail.substr(0, finding.detail.find(':'));
  } else if (finding.id == "wake-up") {
    finding.detail = "none in this layout: who waits asks again by the clock, up to 1 s late";
  }
}

}  // namespace

std::string in_tables(std::string_view text, Place const& place) {
  auto filled = in_schema(text, place.schema);
  filled = with_value(filled, "@locks@", place.syncguard.locks);
  return with_value(filled, "@counters@", place.syncguard.counters);
}

void check_syncguard_tables(Link& link, Place const& place, Instant deadline) {
  auto const tables =
      link.ask("open", std::string(sql::syncguard_tables), names_of(place.syncguard), deadline);
  check(tables, 0, place.syncguard.locks, "key");
  check(tables, 1, place.syncguard.counters, "fence_key");
}

asio::awaitable<void> add_syncguard_findings(Env& env, Place const& place, Pool& pool,
                                             std::chrono::nanoseconds patience,
                                             std::vector<Finding>& findings) {
  for (auto& finding : findings) correct(finding);
  std::string trouble;
  try {
    // The pool belongs to the loop.
    Finding layout = co_await asio::co_spawn(env.executor(), ask(place, pool, env.now() + patience),
                                             asio::use_awaitable);
    findings.push_back(std::move(layout));
  } catch (EngineError const& error) {
    trouble = error.what();
  }
  if (trouble.empty()) co_return;
  Finding unknown;
  unknown.id = "layout";
  unknown.title = "Layout";
  unknown.status = fail;
  unknown.detail = fmt::format("{}: {}", place.syncguard.layout, trouble);
  unknown.fix = "is the server up, and may this role read the fleet's tables?";
  findings.push_back(std::move(unknown));
}

}  // namespace holt::postgres
