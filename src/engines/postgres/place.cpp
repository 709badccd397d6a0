// SPDX-License-Identifier: Apache-2.0
#include "engines/postgres/place.hpp"

#include "engines/postgres/place_options.hpp"

#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <fmt/format.h>

#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

namespace holt::postgres {
namespace {

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    std::string const digits(text.substr(i + 1, 2));
    char* end = nullptr;
    auto const value = std::strtol(digits.c_str(), &end, 16);
    if (digits.size() != 2 || end != digits.c_str() + 2) {
      refuse_address("'%' must be followed by two hexadecimal digits");
    }
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

/// The part before '?' and the options behind it, still encoded.
struct Split {
  std::string front;
  std::vector<std::string_view> options;
};

Split split(std::string_view url) {
  auto const question = url.find('?');
  Split parts{std::string(url.substr(0, question)), {}};
  auto rest = question == std::string_view::npos ? std::string_view() : url.substr(question + 1);
  while (!rest.empty()) {
    auto const one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (!one.empty()) parts.options.push_back(one);
  }
  return parts;
}

/// What libpq makes of its part of the URL. Its own words are not shown: they quote the URL, and
/// with it a password.
Settings parse_with_libpq(std::string const& url) {
  char* error = nullptr;
  std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> const parsed(
      PQconninfoParse(url.c_str(), &error), PQconninfoFree);
  if (error != nullptr) PQfreemem(error);
  if (!parsed) {
    refuse_address(
        "libpq cannot read it (an option that there is not? '/', '?', '#', '&' and '@' in a user "
        "or password are written %2F, %3F, %23, %26 and %40)");
  }
  Settings settings;
  for (auto const* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr && *option->val != '\0') {
      settings.emplace_back(option->keyword, option->val);
    }
  }
  return settings;
}

bool in_environment(char const* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables meanwhile
  char const* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool is_here(std::string_view host) {
  return host.empty() || host.starts_with('/') || host.starts_with('@') || host == "localhost" ||
         host.starts_with("127.") || host == "::1";
}

/// Whether every server is on this machine, as far as the address says.
bool all_here(Settings const& settings) {
  auto hosts = setting(settings, "hostaddr");
  if (hosts.empty()) hosts = setting(settings, "host");
  if (hosts.empty()) return !in_environment("PGHOST") && !in_environment("PGHOSTADDR");
  while (true) {
    auto const comma = hosts.find(',');
    if (!is_here(hosts.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    hosts.remove_prefix(comma + 1);
  }
}

void set_default(Settings& settings, std::string_view keyword, std::string_view value) {
  if (setting(settings, keyword).empty()) set(settings, keyword, std::string(value));
}

/// Servers elsewhere must prove who they are, unless the address says otherwise; to the
/// authorities that this machine trusts, unless libpq has a file of its own.
void secure(Settings& settings) {
  constexpr char const* authorities = "/etc/ssl/certs/ca-certificates.crt";
  bool const said = !setting(settings, "sslmode").empty() || in_environment("PGSSLMODE") ||
                    !setting(settings, "service").empty() || in_environment("PGSERVICE");
  if (!said && !all_here(settings)) set(settings, "sslmode", "verify-full");
  bool const verifies = setting(settings, "sslmode").starts_with("verify-");
  bool const has_root =
      !setting(settings, "sslrootcert").empty() || in_environment("PGSSLROOTCERT");
  if (!verifies || has_root) return;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets variables meanwhile
  char const* const home = std::getenv("HOME");
  auto const own = fmt::format("{}/.postgresql/root.crt", home == nullptr ? "" : home);
  if (::access(own.c_str(), R_OK) != 0 && ::access(authorities, R_OK) == 0) {
    set(settings, "sslrootcert", authorities);
  }
}

void complete(Settings& settings) {
  auto const wanted = setting(settings, "target_session_attrs");
  if (!wanted.empty() && wanted != "read-write" && wanted != "primary") {
    refuse_address("target_session_attrs can only be read-write or primary: leases are written");
  }
  set_default(settings, "target_session_attrs", "read-write");
  set_default(settings, "connect_timeout", "3");
  set_default(settings, "fallback_application_name", "holt");
  set_default(settings, "gssencmode", "disable");
  set_default(settings, "tcp_user_timeout", "10000");
  set_default(settings, "keepalives_idle", "10");
  set_default(settings, "keepalives_interval", "5");
  set_default(settings, "keepalives_count", "3");
  set(settings, "client_encoding", "UTF8");
  secure(settings);
}

std::string encoded(std::string_view text) {
  return boost::urls::encode(text, boost::urls::unreserved_chars);
}

/// `host:port,host:port`, as far as they are set.
std::string hosts_of(Settings const& settings) {
  auto hosts = setting(settings, "host");
  if (hosts.empty()) hosts = setting(settings, "hostaddr");
  auto ports = setting(settings, "port");
  bool const one_port = ports.find(',') == std::string_view::npos;
  std::string text;
  while (true) {
    auto const host = hosts.substr(0, hosts.find(','));
    auto const port = ports.substr(0, ports.find(','));
    bool const bare_ipv6 = host.find(':') != std::string_view::npos;
    text += bare_ipv6 ? fmt::format("[{}]", host) : encoded(host);
    if (!port.empty()) text += fmt::format(":{}", port);
    if (host.size() == hosts.size()) return text;
    hosts.remove_prefix(host.size() + 1);
    if (!one_port) ports.remove_prefix(std::min(port.size() + 1, ports.size()));
    text += ',';
  }
}

}  // namespace

std::string_view setting(Settings const& settings, std::string_view keyword) {
  auto const found = std::ranges::find(settings, keyword, &Settings::value_type::first);
  return found == settings.end() ? std::string_view() : std::string_view(found->second);
}

void set(Settings& settings, std::string_view keyword, std::string value) {
  auto const found = std::ranges::find(settings, keyword, &Settings::value_type::first);
  if (found == settings.end()) {
    settings.emplace_back(keyword, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

std::string with_value(std::string_view text, std::string_view mark, std::string_view value) {
  std::string out;
  for (auto at = text.find(mark); at != std::string_view::npos; at = text.find(mark)) {
    out.append(text.substr(0, at)).append(value);
    text.remove_prefix(at + mark.size());
  }
  return out.append(text);
}

std::string in_schema(std::string_view text, std::string_view schema) {
  while (text.starts_with("--")) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return with_value(text, "@schema@", schema);
}

Place parse_place(std::string_view url) {
  auto const parts = split(url);
  Place place;
  Options own;
  std::string theirs = parts.front;
  char separator = '?';
  for (auto const option : parts.options) {
    auto const equals = std::min(option.find('='), option.size());
    auto const name = option.substr(0, equals);
    auto value = decoded(option.substr(std::min(equals + 1, option.size())));
    if (is_option(name)) {
      own.emplace_back(name, std::move(value));
    } else if (!apply_syncguard_option(place.syncguard, name, value)) {
      theirs.append(1, std::exchange(separator, '&')).append(option);
    }
  }
  place.settings = parse_with_libpq(theirs);
  complete(place.settings);
  apply_options(place, own);
  if (place.pool.min > place.pool.max) refuse_address("pool_min is above pool_max");
  check_syncguard_options(place.syncguard);
  return place;
}

std::string Place::url() const {
  auto const user = setting(settings, "user");
  auto const database = setting(settings, "dbname");
  auto text = fmt::format("postgres://{}{}{}", user.empty() ? "" : encoded(user) + "@",
                          hosts_of(settings), database.empty() ? "" : "/" + encoded(database));
  if (auto const service = setting(settings, "service"); !service.empty()) {
    text += fmt::format("?service={}", encoded(service));
  }
  auto const add = [&text](std::string const& option) {
    text += fmt::format("{}{}", text.find('?') == std::string::npos ? '?' : '&', option);
  };
  if (schema != "holt") add("schema=" + schema);
  if (syncguard) add(to_query(syncguard));
  return text;
}

}  // namespace holt::postgres
