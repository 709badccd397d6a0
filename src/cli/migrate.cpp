// SPDX-License-Identifier: Apache-2.0
// holt migrate

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/store.hpp"
#include "cli/stream.hpp"

#include <holt/migration.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace holt::cli {
namespace {

Record migration_record(Migration const& migration) {
  auto const number = std::to_string(migration.number);
  auto const name = migration.name.empty() ? number + " (of a newer Holt)" : migration.name;
  std::string const state(to_string(migration.state));
  return {
      {"migration", "migration", name, name},
      {"number", {}, std::int64_t{migration.number}, {}},
      {"state", "state", state,
       migration.state == MigrationState::applied_now ? "applied now" : state},
  };
}

std::string verdict(StoreMigrations const& store) {
  if (!store.has_tables) return "has no tables: there is nothing to migrate";
  auto const version = std::to_string(store.version);
  if (store.version != store.before) {
    return "went from version " + std::to_string(store.before) + " to " + version;
  }
  if (store.is_current()) return "is at version " + version + ": there is nothing to migrate";
  auto const known = std::to_string(store.known);
  if (store.version == 0) return "is not there yet; `holt migrate` makes it, at version " + known;
  return "is at version " + version + "; `holt migrate` brings it to " + known;
}

int migrate(CommandLine& line) {
  MigrateOptions options;
  bool check = false;
  StoreOptions store;
  OutputOption output;
  line.flag("--dry-run", options.dry_run, "show what would be done, and change nothing");
  line.flag("--check", check, "the same, and exit code 3 when something would be done");
  store.declare(line);
  output.declare(line);
  if (!line.parse()) return number(ExitCode::ok);
  auto const form = output.form();
  options.dry_run = options.dry_run || check;
  line.doing = options.dry_run ? "look at the store" : "migrate the store";
  auto const found = holt::migrate(store.opening().url, options);
  std::vector<Record> records;
  std::ranges::transform(found.migrations, std::back_inserter(records), migration_record);
  if (!records.empty() || form != Output::table) write_records(form, records);
  if (form == Output::table) talk(found.url + " " + verdict(found));
  return number(check && !found.is_current() ? ExitCode::not_found : ExitCode::ok);
}

}  // namespace

constinit Command const migrate_command{
    .words = "migrate",
    .synopsis = "[options]",
    .summary = "Make the store's tables, or bring them up to date",
    .examples =
        "  holt migrate                              once, before programs are updated\n"
        "  holt migrate --dry-run                    what would be done\n"
        "  holt migrate --check || echo not yet      for scripts\n",
    .details =
        "Every program does this by itself when it opens a store. Where it shall not, because\n"
        "its role in the database may not, or because updates of tables are a step of their\n"
        "own, put migrate=no into the programs' address of the store and run this as the owner\n"
        "of the tables. Programs that use the store go on meanwhile.\n"
        "The tables of queues are among them on PostgreSQL; on SQLite they are in a second file,\n"
        "FILE-tasks, which is made when the first queue is used.\n"
        "Exit code 0: done, or nothing to do. 2: the store is of a Holt that is too new for\n"
        "this one. 3: with --check, something is to be done. 4: this role may not.\n",
    .run = &migrate,
};

}  // namespace holt::cli
