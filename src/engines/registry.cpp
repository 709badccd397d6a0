// SPDX-License-Identifier: Apache-2.0
// The only file that names all engines: picks one by the scheme of the store's URL. What is not
// linked in is a module: holt-engine-SCHEME.so.

#include "contracts/engine.hpp"
#include "contracts/migrations.hpp"
#include "engines/module/loader.hpp"
#include "engines/sqlite/engine.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace holt {
namespace {

struct Entry {
  std::string_view scheme;
  std::unique_ptr<Engine> (*open)(Env& env, EngineOptions const& options);
  MigrateStore migrate;
};

constexpr auto engines = std::to_array<Entry>({
    {"sqlite", sqlite::open, sqlite::migrate},
});

/// The scheme of a URL; a plain path has none and is the embedded engine's.
std::string_view scheme_of(std::string_view url) {
  auto const colon = url.find(':');
  if (colon == std::string_view::npos || colon == 0) return "sqlite";
  auto const scheme = url.substr(0, colon);
  bool const valid = std::ranges::all_of(scheme, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '.' || c == '-';
  });
  return valid ? scheme : "sqlite";
}

std::string known_schemes() {
  std::string text;
  for (auto const& entry : engines) text.append(text.empty() ? "" : ", ").append(entry.scheme);
  return text;
}

}  // namespace

std::unique_ptr<Engine> open_engine(Env& env, EngineOptions const& options) {
  auto const scheme = scheme_of(options.url);
  auto const entry = std::ranges::find(engines, scheme, &Entry::scheme);
  if (entry == engines.end()) return module_for(scheme, known_schemes()).open(env, options);
  return entry->open(env, options);
}

StoreMigrations migrate_store(Env& env, EngineOptions const& options, bool dry_run) {
  auto const scheme = scheme_of(options.url);
  auto const entry = std::ranges::find(engines, scheme, &Entry::scheme);
  if (entry != engines.end()) return entry->migrate(env, options, dry_run);
  auto const& module = module_for(scheme, known_schemes());
  if (module.migrate != nullptr) return module.migrate(env, options, dry_run);
  // Nothing to do, but an address that leads nowhere is not all right.
  StoreMigrations nothing;
  nothing.url = module.open(env, options)->url();
  nothing.has_tables = false;
  return nothing;
}

}  // namespace holt
