// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/schema.hpp"

#include "engines/postgres/errors.hpp"
#include "postgres_sql.hpp"

#include <fmt/format.h>

namespace holt::postgres {
namespace {

SchemaVersion version_in(Answer const& meta) {
  return {static_cast<int>(meta.integer(0, 0)), static_cast<int>(meta.integer(0, 1))};
}

void check_readable(SchemaVersion const& found, Place const& place) {
  if (found.min_reader <= newest_version()) return;
  throw failed(
      ErrorCode::invalid_argument, Outcome::not_applied, "open",
      fmt::format("the schema \"{}\" is of a newer Holt (version {}, for programs that know "
                  "migration {}; this one knows {})",
                  place.schema, found.version, found.min_reader, newest_version()),
      "install a newer Holt");
}

/// What the address forbids.
[[noreturn]] void refuse_to_migrate(Place const& place, SchemaVersion const& found) {
  throw failed(ErrorCode::invalid_argument, Outcome::not_applied, "open",
               found.version > 0
                   ? fmt::format("the schema \"{}\" is of version {}, and this program needs {}",
                                 place.schema, found.version, newest_version())
                   : fmt::format("there is no store in the schema \"{}\"", place.schema),
               "run `holt migrate` as the role that owns the schema: migrate=no in the address "
               "leaves it to that");
}

/// What there is to migrate.
struct Before {
  bool has_schema = false;
  bool has_store = false;
  std::string owner;  ///< of the schema, else of the database
};

Before look(Link& link, Place const& place, Instant deadline) {
  Parameters schema;
  schema.add(place.schema);
  auto const found = link.ask("migrate", std::string(sql::migration_look), schema, deadline);
  return {found.flag(0, 0), found.flag(0, 1), std::string(found.text(0, 2))};
}

/// What the server forbids: the role, what it may not do, and who may.
[[noreturn]] void refuse_role(Link const& link, Place const& place, Before const& before,
                              EngineError const& why) {
  throw failed(
      ErrorCode::auth_failed, Outcome::not_applied, "migrate",
      fmt::format("the role \"{}\" may not {} the tables of the store in the schema \"{}\": {}",
                  link.user(), before.has_store ? "update" : "make", place.schema, why.reason()),
      before.has_schema
          ? fmt::format("run `holt migrate` as \"{}\", who owns the schema", before.owner)
          : fmt::format("run `holt migrate` as a role that may create schemas here (\"{}\" owns "
                        "the database)",
                        before.owner));
}

/// Inside a transaction that holds the lock of migrations.
int migrate(Link& link, Place const& place, Before const& before, Instant deadline) {
  if (!before.has_schema) {
    link.run("migrate", fmt::format("CREATE SCHEMA \"{}\"", place.schema), deadline);
  }
  SchemaVersion found;
  if (before.has_store) {
    auto const meta = link.ask("migrate", in_schema(sql::meta_read, place.schema), {}, deadline);
    if (meta.rows() > 0) found = version_in(meta);
    check_readable(found, place);
  }
  for (auto const& migration : migrations) {
    if (migration.number <= found.version) continue;
    link.run("migrate", in_schema(migration.text, place.schema), deadline);
  }
  return found.version;
}

}  // namespace

int newest_version() { return migrations.back().number; }

std::optional<SchemaVersion> schema_version(Link& link, Place const& place, Instant deadline) {
  try {
    auto const found = link.ask("open", in_schema(sql::meta_read, place.schema), {}, deadline);
    if (found.rows() == 0) return std::nullopt;
    return version_in(found);
  } catch (EngineError const& error) {
    auto const state = state_of(error);
    if (state == "42P01" || state == "3F000") return std::nullopt;
    throw;
  }
}

SchemaVersion look_at_schema(Link& link, Place const& place, Instant deadline) {
  auto const found = schema_version(link, place, deadline).value_or(SchemaVersion());
  check_readable(found, place);
  return found;
}

int prepare_schema(Link& link, Place const& place, Instant deadline) {
  auto const found = look_at_schema(link, place, deadline);
  if (found.version >= newest_version()) return found.version;
  if (!place.migrate) refuse_to_migrate(place, found);
  Parameters schema;
  schema.add(place.schema);
  link.run("migrate", "BEGIN ISOLATION LEVEL READ COMMITTED", deadline);
  link.ask("migrate", std::string(sql::migration_lock), schema, deadline);
  // Whoever uses the store queues behind a migration that waits for a table: not for long.
  link.run("migrate", "SET LOCAL lock_timeout = '3s'", deadline);
  auto const before = look(link, place, deadline);
  try {
    auto const version = migrate(link, place, before, deadline);
    link.run("migrate", "COMMIT", deadline);
    return version;
  } catch (EngineError const& error) {
    if (state_of(error) == insufficient_privilege) refuse_role(link, place, before, error);
    throw;
  }
}

}  // namespace holt::postgres
