// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/place_options.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

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

struct Option {
  std::string_view name;
  void (*apply)(Place& place, std::string const& value);
};

constexpr auto options = std::to_array<Option>({
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

bool apply_option(Place& place, std::string_view name, std::string const& value) {
  auto const* const option = std::ranges::find(options, name, &Option::name);
  if (option == options.end()) return apply_syncguard_option(place.syncguard, name, value);
  option->apply(place, value);
  return true;
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
