// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/place.hpp"

#include <holt/error.hpp>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::string_view forms =
    "write redis://host:6379/0, redis://user:password@host or redis+unix:///path/of/socket";
constexpr int max_database = 1'000'000;
constexpr int max_timeout_ms = 600'000;

[[noreturn]] void refuse(std::string_view why) {
  throw InvalidArgument(fmt::format("the store's address is wrong: {}; {}", why, forms));
}

int number(std::string_view text, std::string_view what, int low, int high) {
  int value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    refuse(fmt::format("\"{}\" is no {} from {} to {}", text, what, low, high));
  }
  return value;
}

/// The first line, as password files are written.
std::string password_in(std::string const& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) refuse(fmt::format("no password can be read from {}", path));
  return line;
}

void apply(Place& place, std::string const& option, std::string const& value) {
  if (option == "timeout") {
    place.connect_timeout =
        std::chrono::milliseconds(number(value, "timeout in milliseconds", 1, max_timeout_ms));
  } else if (option == "password_file") {
    if (!place.password.empty()) refuse("it has a password and a password_file");
    place.password = password_in(value);
  } else if (option == "eviction") {
    if (value != "allow") refuse(fmt::format("eviction={} is not possible, only allow is", value));
    place.allow_eviction = true;
  } else if (option == "db" && place.host.empty()) {
    place.database = number(value, "database", 0, max_database);
  } else {
    refuse(fmt::format("there is no option \"{}\" (there are timeout, password_file, eviction{})",
                       option, place.host.empty() ? ", db" : ""));
  }
}

void set_server(Place& place, boost::urls::url_view const& url) {
  place.host = url.host_address();
  if (place.host.empty()) refuse("it names no host");
  if (url.has_port()) place.port = static_cast<std::uint16_t>(number(url.port(), "port", 1, 65535));
  std::string_view path = url.encoded_path();
  if (path.starts_with('/')) path.remove_prefix(1);
  if (!path.empty()) place.database = number(path, "database", 0, max_database);
}

void set_socket(Place& place, boost::urls::url_view const& url) {
  if (!url.host_address().empty()) {
    refuse(fmt::format("a socket has no host, and \"{}\" stands before its path",
                       std::string(url.host_address())));
  }
  place.path = url.path();
  if (place.path.size() < 2) refuse("it names no socket");
}

}  // namespace

Place parse_place(std::string_view text) {
  auto const parsed = boost::urls::parse_uri(text);
  if (!parsed) refuse("it is no URL");
  auto const& url = *parsed;
  Place place;
  place.user = url.user();
  place.password = url.password();
  if (url.scheme() == "redis+unix") {
    set_socket(place, url);
  } else if (url.scheme() == "redis") {
    set_server(place, url);
  } else {
    refuse(fmt::format("\"{}:\" is no kind of Redis server", std::string(url.scheme())));
  }
  if (url.has_fragment()) refuse("'#' has no meaning in it; write it as %23");
  for (auto const& option : url.params()) apply(place, option.key, option.value);
  return place;
}

std::string Place::url() const {
  auto const who = user.empty() ? std::string() : user + "@";
  auto const in = database == 0 ? std::string() : fmt::format("{}", database);
  if (host.empty()) {
    return fmt::format("redis+unix://{}{}{}", who, path, in.empty() ? in : "?db=" + in);
  }
  bool const bare_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("redis://{}{}:{}{}", who, bare_ipv6 ? "[" + host + "]" : host, port,
                     in.empty() ? in : "/" + in);
}

}  // namespace holt::redis
