// SPDX-License-Identifier: Apache-2.0
// The address of a store as text: parse_place() and Place::url().

#include "engines/sqlite/place.hpp"

#include <holt/error.hpp>

#include <fmt/format.h>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace holt::sqlite {
namespace {

constexpr std::string_view scheme = "sqlite:";
constexpr std::string_view forms =
    "write sqlite:///absolute/path.db, sqlite:relative.db or sqlite:~/in/home.db";

std::string home() {
  if (char const* set = std::getenv("HOME"); set != nullptr && *set == '/') return set;
  if (auto const* entry = ::getpwuid(::getuid()); entry != nullptr) return entry->pw_dir;
  throw InvalidArgument(
      "there is no home folder (HOME is not set) to put the store into: "
      "name a file, such as --store sqlite:///var/lib/holt/holt.db");
}

std::string default_path() {
  char const* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return fmt::format("{}/holt/holt.db", state);
  return fmt::format("{}/.local/state/holt/holt.db", home());
}

std::optional<char> hex_pair(std::string_view digits) {
  unsigned value = 0;
  if (digits.size() != 2) return std::nullopt;
  auto const [end, error] = std::from_chars(digits.begin(), digits.end(), value, 16);
  if (error != std::errc() || end != digits.end()) return std::nullopt;
  return static_cast<char>(value);
}

std::string decode(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    auto const byte = hex_pair(text.substr(i + 1, 2));
    if (!byte || *byte == '\0') {
      throw InvalidArgument(
          fmt::format("'%' in the store's address {} must be followed by two hex digits; "
                      "write a plain '%' as %25",
                      text));
    }
    plain += *byte;
    i += 2;
  }
  return plain;
}

std::string encode(std::string_view path) {
  std::string text;
  for (char const c : path) {
    bool const plain = static_cast<unsigned char>(c) > ' ' && c != '%' && c != '?' && c != '#';
    if (plain) {
      text += c;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

void apply_option(Place& place, std::string_view option) {
  if (option == "sync=normal") {
    place.sync = Sync::normal;
  } else if (option == "sync=full") {
    place.sync = Sync::full;
  } else if (option == "migrate=no") {
    place.migrate = false;
  } else {
    throw InvalidArgument(
        fmt::format("the store's address has the unknown option '{}'; known: sync=normal, "
                    "sync=full, migrate=no",
                    option));
  }
}

void apply_options(Place& place, std::string_view query) {
  while (!query.empty()) {
    auto const end = std::min(query.find('&'), query.size());
    apply_option(place, query.substr(0, end));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
}

/// The path part of an address behind `sqlite:`.
std::string path_in(std::string_view rest) {
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    if (!rest.starts_with('/') && !rest.starts_with('~')) {
      throw InvalidArgument(
          fmt::format("the store's address sqlite://{} has a host; {}", rest, forms));
    }
  }
  return rest.empty() ? default_path() : decode(rest);
}

/// A bare word is more likely the name of something else than that of a file to be made here.
void check_is_path(std::string_view text) {
  if (text.find_first_of("/.:") != std::string_view::npos || text.starts_with('~')) return;
  throw InvalidArgument(fmt::format(
      "'{}' is no address of a store: for a file of this name in the current folder write ./{}",
      text, text));
}

std::string absolute(std::string_view path) {
  if (path == ":memory:") {
    throw InvalidArgument(fmt::format("a store in memory cannot be shared; {}", forms));
  }
  bool const in_home = path == "~" || path.starts_with("~/");
  auto const whole = in_home ? fmt::format("{}{}", home(), path.substr(1)) : std::string(path);
  auto clean = std::filesystem::absolute(whole).lexically_normal().string();
  if (clean.ends_with('/') || clean.find('\0') != std::string::npos) {
    throw InvalidArgument(fmt::format("the store {} is not the name of a file; {}", path, forms));
  }
  return clean;
}

}  // namespace

Place parse_place(std::string_view url) {
  Place place;
  if (!url.starts_with(scheme)) {
    check_is_path(url);
    place.path = absolute(url);
    return place;
  }
  auto const rest = url.substr(scheme.size());
  auto const question = std::min(rest.find('?'), rest.size());
  apply_options(place, rest.substr(std::min(question + 1, rest.size())));
  place.path = absolute(path_in(rest.substr(0, question)));
  return place;
}

std::string Place::url() const {
  return fmt::format("sqlite://{}{}", encode(path), sync == Sync::full ? "?sync=full" : "");
}

}  // namespace holt::sqlite
