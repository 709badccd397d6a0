// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/place.hpp"

#include "engines/redis/place_options.hpp"

#include <boost/url/encode.hpp>
#include <boost/url/host_type.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/rfc/pchars.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <boost/url/url_view.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace holt::redis {
namespace {

constexpr std::uint16_t sentinel_port = 26379;
constexpr std::size_t max_hosts = 99;

/// An address with one host in place of the list of hosts, which is no URL.
struct Split {
  std::string url;
  std::vector<std::string_view> hosts;
};

Split split_hosts(std::string_view text) {
  Split split{std::string(text), {}};
  auto const scheme = text.find("://");
  if (scheme == std::string_view::npos) return split;
  auto const start = scheme + 3;
  auto const end = std::min(text.find_first_of("/?#", start), text.size());
  // In front of the hosts it belongs to a password, behind them to one that was not encoded: parts
  // of it would be taken for a host, a database, an option, and shown.
  if (text.find('@', end) != std::string_view::npos) {
    refuse_address(
        "'@' stands behind the host; '/', '?', '#' and '@' in a user or password are "
        "written %2F, %3F, %23 and %40, and so is '@' elsewhere");
  }
  auto const at = text.substr(start, end - start).rfind('@');
  auto const first = at == std::string_view::npos ? start : start + at + 1;
  for (auto from = first; from <= end;) {
    auto const comma = std::min(text.substr(0, end).find(',', from), end);
    split.hosts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  split.url.replace(first, end - first, split.hosts.front());
  return split;
}

boost::urls::url_view parse_url(std::string const& text) {
  auto const parsed = boost::urls::parse_uri(text);
  if (!parsed) refuse_address("it is no URL");
  return *parsed;
}

Endpoint endpoint_of(boost::urls::url_view const& url, std::uint16_t usual_port) {
  Endpoint endpoint{url.host_address(), usual_port};
  if (endpoint.host.empty()) refuse_address("it names no host, or an empty one");
  bool const plain = std::ranges::all_of(endpoint.host, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
  });
  if (!plain && url.host_type() != boost::urls::host_type::ipv6) {
    refuse_address("a host is made of letters, digits, '.', '-' and '_'");
  }
  if (url.has_port()) {
    endpoint.port = static_cast<std::uint16_t>(number_in_address(url.port(), "port", 1, 65535));
  }
  return endpoint;
}

void set_database(Place& place, std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (!path.empty()) place.database = number_in_address(path, "database", 0, max_database);
}

void set_server(Place& place, boost::urls::url_view const& url) {
  auto endpoint = endpoint_of(url, place.port);
  place.host = std::move(endpoint.host);
  place.port = endpoint.port;
  set_database(place, url.encoded_path());
}

void set_socket(Place& place, boost::urls::url_view const& url) {
  if (!url.host_address().empty()) {
    refuse_address("a socket has no host, and something stands before its path");
  }
  place.path = url.path();
  if (!place.path.starts_with('/')) refuse_address("the path of a socket begins with '/'");
  if (place.path.size() < 2) refuse_address("it names no socket");
}

std::vector<Endpoint> endpoints_of(std::vector<std::string_view> const& hosts,
                                   std::uint16_t usual_port) {
  if (hosts.size() > max_hosts) refuse_address("it names too many hosts");
  std::vector<Endpoint> endpoints;
  for (auto const host : hosts) {
    auto const text = fmt::format("redis://{}", host);
    endpoints.push_back(endpoint_of(parse_url(text), usual_port));
  }
  return endpoints;
}

void set_cluster(Place& place, std::vector<std::string_view> const& hosts,
                 boost::urls::url_view const& url) {
  place.cluster = endpoints_of(hosts, place.port);
  set_database(place, url.encoded_path());
  if (place.database != 0) refuse_address("a cluster has no database but 0");
}

void set_sentinels(Place& place, std::vector<std::string_view> const& hosts,
                   boost::urls::url_view const& url) {
  place.sentinels = endpoints_of(hosts, sentinel_port);
  auto const segments = url.encoded_segments();
  if (!segments.empty()) place.service = (*segments.begin()).decode();
  if (place.service.empty()) refuse_address("it names no service that the Sentinels would know");
  std::string_view path = url.encoded_path();
  path.remove_prefix(std::min(path.find('/', 1), path.size()));
  set_database(place, path);
}

std::string encoded(std::string_view text) {
  return boost::urls::encode(text, boost::urls::unreserved_chars);
}

std::string list_of(std::vector<Endpoint> const& hosts) {
  std::string text;
  for (auto const& each : hosts) text.append(text.empty() ? "" : ",").append(to_string(each));
  return text;
}

}  // namespace

std::string to_string(Endpoint const& endpoint) {
  bool const bare_ipv6 = endpoint.host.find(':') != std::string::npos;
  return fmt::format("{}:{}", bare_ipv6 ? "[" + endpoint.host + "]" : endpoint.host, endpoint.port);
}

Place parse_place(std::string_view text) {
  auto const split = split_hosts(text);
  auto const url = parse_url(split.url);
  std::string const scheme(url.scheme());
  Place place;
  place.user = url.user();
  place.password = url.password();
  if (scheme.starts_with("rediss")) place.tls.emplace();
  if (scheme == "redis+sentinel" || scheme == "rediss+sentinel") {
    set_sentinels(place, split.hosts, url);
  } else if (scheme == "redis+cluster" || scheme == "rediss+cluster") {
    set_cluster(place, split.hosts, url);
  } else if (split.hosts.size() > 1) {
    refuse_address("it names several hosts, which only redis+cluster:// and redis+sentinel:// do");
  } else if (scheme == "redis+unix") {
    set_socket(place, url);
  } else if (scheme == "redis" || scheme == "rediss") {
    set_server(place, url);
  } else {
    refuse_address(fmt::format("\"{}:\" is no kind of Redis server", scheme));
  }
  if (url.has_fragment()) refuse_address("'#' has no meaning in it; write it as %23");
  for (auto const& option : url.params()) apply_option(place, option.key, option.value);
  check_options(place);
  return place;
}

std::string Place::url() const {
  auto const who = user.empty() ? std::string() : encoded(user) + "@";
  auto const in = database == 0 ? std::string() : fmt::format("/{}", database);
  if (!path.empty()) {
    return fmt::format("redis+unix://{}{}{}", who,
                       boost::urls::encode(path, boost::urls::unreserved_chars + '/'),
                       database == 0 ? in : fmt::format("?db={}", database));
  }
  auto const* const scheme = tls ? "rediss" : "redis";
  if (!host.empty()) {
    return fmt::format("{}://{}{}{}", scheme, who, to_string(Endpoint{host, port}), in);
  }
  if (!cluster.empty()) return fmt::format("{}+cluster://{}{}", scheme, who, list_of(cluster));
  return fmt::format("{}+sentinel://{}{}/{}{}", scheme, who, list_of(sentinels), encoded(service),
                     in);
}

}  // namespace holt::redis
