// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/place_options.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>

namespace holt::redis {
namespace {

constexpr std::string_view forms =
    "write redis://host:6379/0, redis://user:password@host, rediss://host for TLS, "
    "redis+unix:///path/of/socket, redis+sentinel://host,host,host/service or "
    "redis+cluster://host,host,host";
constexpr int max_replicas = 100;
constexpr int max_timeout_ms = 600'000;

bool any(Place const& /*place*/) { return true; }
bool is_socket(Place const& place) { return !place.path.empty(); }
bool has_tls(Place const& place) { return place.tls.has_value(); }
bool has_sentinels(Place const& place) { return !place.sentinels.empty(); }

/// The first line, as password files are written.
std::string first_line(std::string const& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line.empty()) {
    refuse_address(fmt::format("no password can be read from {}", path));
  }
  return line;
}

bool is_variable(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string in_environment(std::string const& name) {
  // Not shown otherwise: it might be the password itself.
  if (!is_variable(name)) {
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

void set_password(std::string& password, std::string found) {
  if (!password.empty()) refuse_address("it has more than one password for the same server");
  password = std::move(found);
}

struct Option {
  std::string_view name;
  bool (*fits)(Place const& place);
  void (*apply)(Place& place, std::string const& value);
};

constexpr auto options = std::to_array<Option>({
    {"timeout", any,
     [](Place& place, std::string const& value) {
       place.connect_timeout = std::chrono::milliseconds(
           number_in_address(value, "timeout (of connecting, in milliseconds)", 1, max_timeout_ms));
     }},
    {"password_file", any,
     [](Place& place, std::string const& value) {
       set_password(place.password, first_line(value));
     }},
    {"password_env", any,
     [](Place& place, std::string const& value) {
       set_password(place.password, in_environment(value));
     }},
    {"eviction", any,
     [](Place& place, std::string const& value) {
       if (value != "allow") refuse_address("eviction can only be allow");
       place.allow_eviction = true;
     }},
    {"wait_replicas", any,
     [](Place& place, std::string const& value) {
       place.wait_replicas = number_in_address(value, "wait_replicas", 1, max_replicas);
     }},
    {"wait_timeout", any,
     [](Place& place, std::string const& value) {
       place.wait_timeout = std::chrono::milliseconds(
           number_in_address(value, "wait_timeout (in milliseconds)", 1, max_timeout_ms));
       place.wait_timeout_given = true;
     }},
    {"db", is_socket,
     [](Place& place, std::string const& value) {
       place.database = number_in_address(value, "database", 0, max_database);
     }},
    {"ca_file", has_tls,
     [](Place& place, std::string const& value) { place.tls->ca_file = value; }},
    {"certificate_file", has_tls,
     [](Place& place, std::string const& value) { place.tls->certificate_file = value; }},
    {"key_file", has_tls,
     [](Place& place, std::string const& value) { place.tls->key_file = value; }},
    {"server_name", has_tls,
     [](Place& place, std::string const& value) { place.tls->server_name = value; }},
    {"sentinel_user", has_sentinels,
     [](Place& place, std::string const& value) { place.sentinel.user = value; }},
    {"sentinel_password_file", has_sentinels,
     [](Place& place, std::string const& value) {
       set_password(place.sentinel.password, first_line(value));
     }},
    {"sentinel_password_env", has_sentinels,
     [](Place& place, std::string const& value) {
       set_password(place.sentinel.password, in_environment(value));
     }},
});

std::string names_for(Place const& place) {
  std::string text;
  for (auto const& option : options) {
    if (option.fits(place)) text.append(option.name).append(", ");
  }
  return text + "layout";  // query_options.cpp has taken it out of the address
}

}  // namespace

void refuse_address(std::string_view why) {
  throw InvalidArgument(fmt::format("the store's address is wrong: {}; {}", why, forms));
}

int number_in_address(std::string_view text, std::string_view what, int low, int high) {
  int value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    refuse_address(fmt::format("its {} is no number from {} to {}", what, low, high));
  }
  return value;
}

void apply_option(Place& place, std::string const& name, std::string const& value) {
  auto const* const option = std::ranges::find(options, name, &Option::name);
  if (option == options.end() || !option->fits(place)) {
    refuse_address(
        fmt::format("there is no option \"{}\" for it (there are {})", name, names_for(place)));
  }
  option->apply(place, value);
}

void check_options(Place const& place) {
  if (place.tls && place.tls->certificate_file.empty() != place.tls->key_file.empty()) {
    refuse_address("certificate_file and key_file go together, and one is missing");
  }
  if (place.wait_timeout_given && place.wait_replicas == 0) {
    refuse_address("wait_timeout means nothing without wait_replicas");
  }
}

}  // namespace holt::redis
