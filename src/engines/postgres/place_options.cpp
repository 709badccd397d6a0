// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/place_options.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>

namespace holt::postgres {
namespace {

constexpr int max_connections = 1000;
constexpr int max_seconds = 10'000'000;
constexpr std::size_t max_schema = 40;

int number(std::string_view text, std::string_view what, int low, int high) {
  int value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    refuse_address(fmt::format("its {} is no number from {} to {}", what, low, high));
  }
  return value;
}

std::chrono::seconds seconds(std::string_view text, std::string_view what) {
  return std::chrono::seconds(number(text, fmt::format("{} (in seconds)", what), 1, max_seconds));
}

void set_schema(Place& place, std::string const& value) {
  bool const plain = std::ranges::all_of(
      value, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
  bool const starts_well = !value.empty() && (value[0] < '0' || value[0] > '9');
  if (!plain || !starts_well || value.size() > max_schema || value.starts_with("pg_")) {
    refuse_address(
        fmt::format("a schema has 1 to {} letters a-z, digits and _, begins with no digit and "
                    "not with pg_",
                    max_schema));
  }
  place.schema = value;
}

/// Without the end of the line.
std::string first_line(std::string const& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    refuse_address(
        fmt::format("the password should be in {}, which cannot be read or is empty", path));
  }
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

std::string in_variable(std::string const& name) {
  bool const plain = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  // Not shown otherwise: it might be the password itself.
  if (!plain) {
    refuse_address("password_env must be the name of an environment variable (A-Z, 0-9, _)");
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables meanwhile
  char const* const value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') {
    refuse_address(fmt::format(
        "the password should be in the environment variable {}, which is not set", name));
  }
  return value;
}

void set_password(Place& place, std::string password) {
  if (!setting(place.settings, "password").empty()) {
    refuse_address("it has more than one password");
  }
  set(place.settings, "password", std::move(password));
}

struct Option {
  std::string_view name;
  void (*apply)(Place& place, std::string const& value);
};

// In the order in which they are applied: listen and read_store copy what was set before.
constexpr auto options = std::to_array<Option>({
    {"password_file",
     [](Place& place, std::string const& value) { set_password(place, first_line(value)); }},
    {"password_env",
     [](Place& place, std::string const& value) { set_password(place, in_variable(value)); }},
    {"schema", set_schema},
    {"pool_max",
     [](Place& place, std::string const& value) {
       place.pool.max = number(value, "pool_max", 1, max_connections);
     }},
    {"pool_min",
     [](Place& place, std::string const& value) {
       place.pool.min = number(value, "pool_min", 0, max_connections);
     }},
    {"pool_lifetime",
     [](Place& place, std::string const& value) {
       place.pool.lifetime = seconds(value, "pool_lifetime");
     }},
    {"pool_idle",
     [](Place& place, std::string const& value) { place.pool.idle = seconds(value, "pool_idle"); }},
    {"pool_check",
     [](Place& place, std::string const& value) {
       place.pool.check = seconds(value, "pool_check");
     }},
    {"migrate",
     [](Place& place, std::string const& value) {
       if (value != "no") refuse_address("migrate can only be no");
       place.migrate = false;
     }},
    {"listen",
     [](Place& place, std::string const& value) {
       place.listens = value != "none";
       if (place.listens) place.listen_at = at_hosts(place.settings, value);
     }},
    {"read_store",
     [](Place& place, std::string const& value) {
       place.read_at = at_hosts(place.settings, value);
       set(*place.read_at, "target_session_attrs", "any");
     }},
});

}  // namespace

void refuse_address(std::string_view why) {
  throw InvalidArgument(
      fmt::format("the store's address is wrong: {}; write postgres://user@host:5432/database, "
                  "postgres://host1,host2/database or postgres:///database?host=/run/postgresql",
                  why));
}

bool is_option(std::string_view name) {
  return std::ranges::find(options, name, &Option::name) != options.end();
}

void apply_options(Place& place, Options const& given) {
  for (auto const& option : options) {
    for (auto const& [name, value] : given) {
      if (name == option.name) option.apply(place, value);
    }
  }
}

Settings at_hosts(Settings settings, std::string_view hosts) {
  std::string names;
  std::string ports;
  auto const usual_port = setting(settings, "port").find(',') == std::string_view::npos
                              ? std::string(setting(settings, "port"))
                              : std::string();
  while (!hosts.empty()) {
    auto const one = hosts.substr(0, hosts.find(','));
    hosts.remove_prefix(std::min(one.size() + 1, hosts.size()));
    auto const bracket = one.find(']');
    auto const colon = one.find(':', bracket == std::string_view::npos ? 0 : bracket);
    auto name = one.substr(0, colon);
    if (bracket != std::string_view::npos && name.starts_with('[')) {
      name = name.substr(1, bracket - 1);
    }
    if (name.empty()) refuse_address("listen and read_store name hosts: host:port,host:port");
    auto const port =
        colon == std::string_view::npos ? std::string_view(usual_port) : one.substr(colon + 1);
    names.append(names.empty() ? "" : ",").append(name);
    ports.append(ports.empty() && names.size() == name.size() ? "" : ",").append(port);
  }
  std::erase_if(settings, [](auto const& entry) { return entry.first == "hostaddr"; });
  set(settings, "host", names);
  set(settings, "port", ports);
  return settings;
}

}  // namespace holt::postgres
