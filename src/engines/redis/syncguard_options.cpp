// SPDX-License-Identifier: Apache-2.0
#include "engines/redis/syncguard_options.hpp"

#include <holt/error.hpp>

#include <boost/url/encode.hpp>
#include <boost/url/pct_string_view.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <fmt/format.h>

#include <string_view>

namespace holt::redis {
namespace {

[[noreturn]] void refuse(std::string const& why) {
  throw InvalidArgument("the store's address is wrong: " + why);
}

/// As they stand in the address; nothing: not there.
struct Found {
  std::optional<std::string> layout;
  std::optional<std::string> prefix;
  std::optional<std::string> cleanup;
};

std::optional<std::string>* slot(Found& found, std::string_view option) {
  if (option == "layout") return &found.layout;
  if (option == "prefix") return &found.prefix;
  if (option == "cleanup_in_is_locked") return &found.cleanup;
  return nullptr;
}

std::string decoded(std::string_view option, std::string_view value) {
  auto const view = boost::urls::make_pct_string_view({value.data(), value.size()});
  if (!view) refuse(fmt::format("{}= has a '%' without two hex digits behind it", option));
  return view->decode();
}

/// Answers the rest of the query.
std::string take(std::string_view query, Found& found) {
  std::string rest;
  while (!query.empty()) {
    auto const end = std::min(query.find('&'), query.size());
    auto const part = query.substr(0, end);
    auto const equals = std::min(part.find('='), part.size());
    auto const option = part.substr(0, equals);
    if (auto* const into = slot(found, option)) {
      if (*into) refuse(fmt::format("it says {} twice", option));
      *into = decoded(option, part.substr(std::min(equals + 1, part.size())));
    } else {
      rest.append(rest.empty() ? "" : "&").append(part);
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return rest;
}

bool cleanup_of(std::string_view value) {
  if (value == "true") return true;
  if (value == "false") return false;
  refuse(fmt::format("cleanup_in_is_locked={} is not possible, only true and false are", value));
}

}  // namespace

std::optional<SyncguardOptions> take_syncguard_options(std::string& url) {
  auto const mark = url.find('?');
  // An '@' behind it: '?' is part of a password, which no error may show. parse_place() refuses it.
  if (mark == std::string::npos || url.find('@', mark) != std::string::npos) return std::nullopt;
  auto const end = std::min(url.find('#', mark), url.size());
  Found found;
  auto const rest = take(std::string_view(url).substr(mark + 1, end - mark - 1), found);
  if (!found.layout && !found.prefix && !found.cleanup) return std::nullopt;
  if (!found.layout) {
    refuse(
        fmt::format("prefix and cleanup_in_is_locked belong to a layout (there are {}), and it "
                    "names none",
                    syncguard_layouts));
  }
  auto const* const layout = find_syncguard_layout(*found.layout);
  if (layout == nullptr) {
    refuse(fmt::format("there is no layout \"{}\" (there are {}, and Holt's own without layout=)",
                       *found.layout, syncguard_layouts));
  }
  url.replace(mark, end - mark, rest.empty() ? rest : "?" + rest);
  return SyncguardOptions{layout, found.prefix.value_or(std::string(syncguard_prefix)),
                          found.cleanup && cleanup_of(*found.cleanup)};
}

std::string with_layout(std::string const& url, SyncguardOptions const& options) {
  return fmt::format("{}{}layout={}&prefix={}", url, url.contains('?') ? '&' : '?',
                     options.layout->name,
                     boost::urls::encode(options.prefix, boost::urls::unreserved_chars));
}

}  // namespace holt::redis
