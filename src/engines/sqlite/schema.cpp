// SPDX-License-Identifier: Apache-2.0
#include "engines/sqlite/schema.hpp"

#include "engines/sqlite/blocker.hpp"
#include "engines/sqlite/errors.hpp"
#include "engines/sqlite/gate.hpp"
#include "sqlite_sql.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <map>
#include <optional>
#include <set>
#include <string>

namespace holt::sqlite {
namespace {

constexpr std::string_view opening = "open";
constexpr auto patience = std::chrono::seconds(5);
constexpr int task_application_id = 0x486F6C54;  // "HolT"

std::int64_t version_of(Schema const& schema) { return schema.migrations.back().number; }

std::int64_t number(Connection& store, std::string_view query) {
  Query row(store, query);
  return row.next() ? row.integer(0) : 0;
}

void check_version(Meta const& meta, Place const& place, Schema const& schema) {
  auto const our_version = version_of(schema);
  if (meta.min_reader <= our_version) return;
  throw store_error(ErrorCode::invalid_argument, opening,
                    fmt::format("the store {} has format {}, which needs a Holt that knows format "
                                "{}; this one knows up to {}",
                                place.path, meta.version, meta.min_reader, our_version),
                    "upgrade Holt, or use another store");
}

/// A file without our tables may only become a store if nobody else put anything into it.
void check_unused(Connection& store, Place const& place, Schema const& schema) {
  constexpr std::string_view application_query = "PRAGMA application_id";
  auto const application = number(store, application_query);
  bool const empty = number(store, sql::meta_is_empty) == 0;
  if (application == 0 && empty) return;
  if (application == schema.application) {
    throw store_error(ErrorCode::internal, opening,
                      fmt::format("the store {} is damaged: its tables are missing", place.path),
                      "move the file and its -wal and -shm away and open again");
  }
  throw store_error(ErrorCode::invalid_argument, opening,
                    fmt::format("{} is not a Holt store: it is a SQLite file of another program, "
                                "and is left as it is",
                                place.path),
                    "choose another file: --store sqlite:///path/to/holt.db");
}

/// With migrate=no. `found`: 0 when there is no store.
[[noreturn]] void refuse_to_migrate(Place const& place, std::int64_t found, std::int64_t needed) {
  throw store_error(ErrorCode::invalid_argument, opening,
                    found == 0 ? fmt::format("there is no store at {}", place.path)
                               : fmt::format("the store {} has format {}, and this Holt needs {}",
                                             place.path, found, needed),
                    "run `holt migrate` first: migrate=no in the address leaves it to that");
}

void migrate(Connection& store, Schema const& schema, std::int64_t from) {
  if (from == 0) store.execute(fmt::format("PRAGMA application_id = {}", schema.application));
  for (auto const& migration : schema.migrations) {
    if (migration.number > from) store.execute(std::string(migration.text));
  }
}

/// The columns of each table.
std::map<std::string, std::set<std::string>> columns(Connection& store) {
  std::map<std::string, std::set<std::string>> tables;
  Query row(store, sql::schema_columns);
  while (row.next()) tables[std::string(row.text(0))].emplace(row.text(1));
  return tables;
}

void enter_boot(Connection& store, Schema const& schema, std::string const& boot_id) {
  store.execute(std::string(schema.forget_boot));
  Query(store, schema.store_boot, boot_id).run();
}

/// With the gate: what is decided here was read again inside the transaction.
void bring_up(Connection& store, Place const& place, Schema const& schema,
              std::string const& boot_id) {
  if (!store.begin()) {
    auto const blocker = write_blocker(place.path);
    throw store_error(
        ErrorCode::network_timeout, opening,
        fmt::format("{} is busy: {}", place.path,
                    blocker.who.empty() ? "another program keeps it locked" : blocker.who),
        blocker.hint);
  }
  auto const before = read_meta(store, schema);
  if (before) {
    check_version(*before, place, schema);
  } else {
    check_unused(store, place, schema);
  }
  auto const found = before ? before->version : 0;
  if (found < version_of(schema)) {
    if (!place.migrate) refuse_to_migrate(place, found, version_of(schema));
    migrate(store, schema, found);
  }
  auto const meta = read_meta(store, schema);
  if (meta && meta->boot_id != boot_id) enter_boot(store, schema, boot_id);
  store.commit();
}

void pass_gate(Env& env, Connection& store, Place const& place, Schema const& schema) {
  Gate gate(place.gate(), place.path);
  if (!gate.lock(patience)) {
    auto const blocker = gate_blocker(gate.path());
    throw store_error(
        ErrorCode::network_timeout, opening,
        fmt::format("{} is busy: {}", place.path,
                    blocker.who.empty() ? "another process holds its lock" : blocker.who),
        blocker.hint);
  }
  try {
    store.wait_for_locks_until(env.now() + patience);
    if (!read_meta(store, schema)) check_unused(store, place, schema);
    store.execute("PRAGMA journal_mode = WAL");
    // A power cut must not take a boot's step back: the next would raise the same fences again.
    store.execute("PRAGMA synchronous = FULL");
    bring_up(store, place, schema, env.boot_id());
    if (place.sync == Sync::normal) store.execute("PRAGMA synchronous = NORMAL");
  } catch (...) {
    store.rollback();
    gate.unlock();
    throw;
  }
  gate.unlock();
}

/// Whether there is nothing to do. (In WAL mode a read has just made the -shm file.)
bool is_ready(std::optional<Meta> const& meta, Place const& place, Schema const& schema,
              std::string const& boot_id) {
  return meta && meta->version >= version_of(schema) && meta->boot_id == boot_id &&
         FileIdentity::of(place.path + "-shm").inode != 0;
}

}  // namespace

Schema store_schema() noexcept {
  return {application_id, migrations, sql::meta_read, sql::boot_forget, sql::boot_store};
}

Schema task_schema() noexcept {
  return {task_application_id, task_migrations, sql::task_meta_read, sql::task_boot_forget,
          sql::task_boot_store};
}

std::optional<Meta> read_meta(Connection& store, Schema const& schema) {
  try {
    Query row(store, schema.read_meta);
    if (!row.next()) return std::nullopt;
    return Meta{row.integer(0), row.integer(1), std::string(row.text(2))};
  } catch (DatabaseError const& error) {
    if (error.primary() == SQLITE_ERROR) return std::nullopt;
    throw;
  }
}

std::int64_t known_format() noexcept { return version_of(store_schema()); }

/// Measured against a store in memory that is made by the same migrations.
std::vector<std::string> missing_parts(Env& env, Connection& store) {
  Connection model(env, ":memory:", Sync::normal);
  migrate(model, store_schema(), 0);
  auto const wanted = columns(model);
  auto const found = columns(store);
  std::vector<std::string> missing;
  for (auto const& [table, names] : wanted) {
    auto const there = found.find(table);
    if (there == found.end()) {
      missing.push_back(table);
      continue;
    }
    for (auto const& name : names) {
      if (!there->second.contains(name)) missing.push_back(fmt::format("{}.{}", table, name));
    }
  }
  return missing;
}

void check_is_there(Place const& place) {
  if (!place.migrate && FileIdentity::of(place.path).inode == 0) refuse_to_migrate(place, 0, 0);
}

int format_of(Env& env, Place const& place, Schema const& schema) {
  try {
    Connection store(env, place.path, place.sync);
    store.keep_log_at_close();
    store.wait_for_locks_until(env.now() + patience);
    auto const meta = read_meta(store, schema);
    if (!meta) {
      check_unused(store, place, schema);
      return 0;
    }
    check_version(*meta, place, schema);
    return static_cast<int>(meta->version);
  } catch (DatabaseError const& error) {
    throw engine_error(error, opening, place.path);
  }
}

std::unique_ptr<Connection> open_store(Env& env, Place const& place, Schema const& schema) {
  try {
    auto store = std::make_unique<Connection>(env, place.path, place.sync);
    if (store->read_only()) {
      throw store_error(ErrorCode::auth_failed, opening,
                        fmt::format("{} cannot be written to", place.path),
                        "check who may write to the file and its folder");
    }
    store->wait_for_locks_until(env.now() + patience);
    auto const meta = read_meta(*store, schema);
    if (meta) check_version(*meta, place, schema);
    if (!is_ready(meta, place, schema, env.boot_id())) pass_gate(env, *store, place, schema);
    return store;
  } catch (DatabaseError const& error) {
    throw engine_error(error, opening, place.path);
  }
}

}  // namespace holt::sqlite
